"""Data of the illustration: a two-dimensional Gaussian posterior that narrows with n (figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch

from tallsbi.algorithms import configured
from tallsbi.algorithms.base import Problem
from tallsbi.priors.gaussian import Gaussian
from tallsbi.random import numpy_generator, torch_generator
from tallsbi.samplers.base import Noise
from tallsbi.schedule import TOY
from tallsbi.scores.gaussian import GaussianScore, tall_posterior
from tallsbi.study.tasks.toy import equicorrelation


def illustrate(settings: Mapping[str, Any]) -> pd.DataFrame:
    """Draws of the analytic posterior and of GAUSS for every n, one row per draw."""
    seed, toy = settings["seed"], settings["toy"]
    theta = np.array(toy["pedagogical"]["theta"], dtype=float)
    n_obs, samples = toy["pedagogical"]["n_obs"], toy["pedagogical"]["samples"]
    noise_cov = equicorrelation(2, toy["correlation"])
    rng = numpy_generator(seed, "pedagogical", "x")
    x = theta + rng.standard_normal((max(n_obs), 2)) @ np.linalg.cholesky(noise_cov).T
    prior, x, noise_cov = (
        Gaussian.standard(2, torch.float64),
        torch.from_numpy(x)[None],
        torch.from_numpy(noise_cov),
    )
    gauss = configured("GAUSS", settings["method"], settings)
    frames = []
    for n in n_obs:
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
    return pd.concat(frames, ignore_index=True)
