"""Data of the illustration: a two-dimensional Gaussian posterior that narrows with n (figure 1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from tallsbi.algorithms.base import Problem
from tallsbi.priors.gaussian import Gaussian, tall_posterior
from tallsbi.random import numpy_generator, torch_generator
from tallsbi.samplers.base import Noise
from tallsbi.schedule import TOY
from tallsbi.scores.gaussian import GaussianScore
from tallsbi.study.columns.toy import PEDAGOGICAL
from tallsbi.study.settings.toy import PedagogicalSettings
from tallsbi.study.tasks.toy import equicorrelation, gaussian_noise


def illustrate(settings: PedagogicalSettings) -> pd.DataFrame:
    """Draws of the analytic posterior and of GAUSS for every n, one row per draw."""
    seed, samples = settings.seed, settings.samples
    covariance = equicorrelation(2, settings.correlation)
    rng = numpy_generator(seed, "pedagogical", "x")
    x = np.array(settings.theta, dtype=float) + gaussian_noise(max(settings.n_obs), covariance, rng)
    prior, x, noise_cov = (
        Gaussian.standard(2, torch.float64),
        torch.from_numpy(x)[None],
        torch.from_numpy(covariance),
    )
    gauss = settings.methods.algorithm("GAUSS")
    frames = []
    for n in settings.n_obs:
        mean, cov = tall_posterior(prior, noise_cov, x[:, :n])
        z = torch.from_numpy(
            numpy_generator(seed, "pedagogical", "analytic", n).standard_normal((samples, 2))
        )
        problem = Problem(GaussianScore(prior, noise_cov, TOY), prior, x[:, :n])
        noise = Noise([torch_generator(seed, "pedagogical", "GAUSS", n)], torch.float64)
        draws = {
            "analytic": mean + z @ torch.linalg.cholesky(cov[0]).mT,
            "GAUSS": gauss.sample(problem, samples, noise).theta[0],
        }
        for source, values in draws.items():
            frame = pd.DataFrame(values.numpy(), columns=["theta_1", "theta_2"])
            frame.insert(0, "sample", np.arange(samples))
            frame.insert(0, "source", source)
            frame.insert(0, "n", n)
            frames.append(frame)
    return PEDAGOGICAL.check(pd.concat(frames, ignore_index=True))
