"""sbi's neural likelihood estimation: a masked autoregressive flow for one observation, log-likelihoods added up."""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, MultivariateNormal

from benchmarks.peers.case import Case
from benchmarks.peers.importance import tempered_draws
from benchmarks.peers.rival import Rival, load_network, save_network, stacked

_FLOW_ROWS = 20_000  # of theta and x together in one call of the flow
LEAST_EFFECTIVE = 400.0  # independent draws; a warning tells of fewer


def quietly(
    trainer: Any, prior: Distribution, theta: Tensor, x: Tensor, train: dict[str, Any], **more: Any
) -> Any:
    """An estimator of sbi, trained; by default sbi leaves its logs in the current directory."""
    from sbi.utils.tracking import TensorBoardTracker
    from torch.utils.tensorboard import SummaryWriter

    printed = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as logs,
        warnings.catch_warnings(),
        contextlib.redirect_stdout(printed),
    ):
        warnings.simplefilter("ignore")
        tracker = TensorBoardTracker(SummaryWriter(logs))
        inference = trainer(prior, show_progress_bars=False, tracker=tracker, **more)
        return inference.append_simulations(theta, x).train(**train)


def train(prior: MultivariateNormal, theta: Tensor, x: Tensor) -> Any:
    """With sbi's defaults: it stops after 20 epochs without a gain."""
    from sbi.inference import NLE

    return quietly(NLE, prior, theta, x, {})


def log_likelihood(estimator: Any, x: Tensor) -> Callable[[np.ndarray], np.ndarray]:
    """Of all rows of x [n, d], for every theta [S, m]."""
    n = len(x)

    def summed(theta: np.ndarray) -> np.ndarray:
        values = []
        with torch.no_grad():
            for part in torch.from_numpy(theta).float().split(max(1, _FLOW_ROWS // n)):
                rows, condition = x.repeat(len(part), 1)[None], part.repeat_interleave(n, 0)
                single = estimator.log_prob(rows, condition=condition)
                values.append(single.double().reshape(len(part), n).sum(1))
        return torch.cat(values).numpy()

    return summed


def draw(estimator: Any, prior: MultivariateNormal, x: Tensor, samples: int, seed: int) -> np.ndarray:
    """Of one dataset x [n, d]."""
    mean, covariance = prior.mean.double().numpy(), prior.covariance_matrix.double().numpy()
    rng = np.random.default_rng(seed)
    draws, effective = tempered_draws(log_likelihood(estimator, x), mean, covariance, samples, rng)
    if effective < LEAST_EFFECTIVE:
        warnings.warn(f"NLE, n = {len(x)}: {samples} draws are worth {effective:.0f}", stacklevel=2)
    return draws


def draw_by_slice(
    estimator: Any, prior: MultivariateNormal, x: Tensor, samples: int, seed: int
) -> np.ndarray:
    """The same with sbi's slice sampler and its defaults, to check `draw`."""
    from sbi.inference import MCMCPosterior
    from sbi.inference.potentials import likelihood_estimator_based_potential

    torch.manual_seed(seed)
    potential, transform = likelihood_estimator_based_potential(estimator, prior, x)
    chain = MCMCPosterior(potential, prior, transform, method="slice_np_vectorized", num_chains=20, thin=2)
    return chain.sample((samples,), x=x, show_progress_bars=False).double().numpy()


class NLE(Rival):
    name, methods = "NLE", ("NLE",)

    def train(self, case: Case, folder: Path) -> float:
        torch.manual_seed(0)
        start = time.process_time()
        save_network(train(case.prior, *case.pairs), folder)
        return time.process_time() - start

    def draw(self, method: str, case: Case, folder: Path, n: int, samples: int) -> tuple[np.ndarray, float]:
        estimator, start = load_network(folder), time.process_time()
        draws = [draw(estimator, case.prior, x[:n], samples, i) for i, x in enumerate(case.data)]
        return stacked(draws), time.process_time() - start
