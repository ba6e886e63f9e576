"""A problem as every method sees it: Gaussian parameters, and positive observations in logarithms.

All problems have priors that are Gaussian in their latent space. Every method learns and draws there, so that none
loses by a map that another makes for itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from torch import Tensor
from torch.distributions import MultivariateNormal

from benchmarks.exact_posterior import Exact
from benchmarks.problems import TallProblem
from tallsbi.api.refined import latent_prior
from tallsbi.priors.gaussian import Gaussian


@dataclass(frozen=True)
class Case:
    task: TallProblem
    simulations: int
    datasets: int
    largest: int  # n; fewer observations are the first ones of these

    @cached_property
    def prior(self) -> MultivariateNormal:
        latent = latent_prior(self.task.prior)
        if not isinstance(latent, Gaussian):
            raise TypeError(
                f"{self.task.name}: the latent prior is a {type(latent).__name__}, not a Gaussian."
            )
        return MultivariateNormal(latent.mean[0].float(), latent.cov[0].float())

    @cached_property
    def pairs(self) -> tuple[Tensor, Tensor]:
        """To train with: parameters [N, m] and one observation each [N, d]."""
        theta, x = self.task.simulations(self.simulations)
        return self.task.prior.to_latent(theta), self.as_given(x)

    @cached_property
    def truth(self) -> Tensor:
        return self.task.prior.to_latent(self._data[0]).float()

    @cached_property
    def data(self) -> Tensor:
        """[B, largest, d]"""
        return self.as_given(self._data[1])

    @cached_property
    def raw_data(self) -> Tensor:
        return self._data[1]

    @cached_property
    def _data(self) -> tuple[Tensor, Tensor]:
        return self.task.datasets(self.datasets, self.largest)

    def as_given(self, x: Tensor) -> Tensor:
        """As every method gets it."""
        return x.log() if self.task.log_x else x

    def exact(self, n: int, folder: Path) -> list[Exact]:
        """Of every dataset; kept in a file, since some likelihoods are dear."""
        path = folder / "exact" / f"{self.task.name}-{n}-{self.datasets}.npz"
        if not path.is_file():
            theta, x = self._data
            exact = [self.task.exact(truth, rows[:n]) for truth, rows in zip(theta, x, strict=True)]
            path.parent.mkdir(parents=True, exist_ok=True)
            names = ("mean", "deviation", "effective")
            np.savez(
                path, **{name: np.stack([getattr(posterior, name) for posterior in exact]) for name in names}
            )
        kept = np.load(path)
        rows = zip(kept["mean"], kept["deviation"], kept["effective"], strict=True)
        return [Exact(mean, deviation, float(effective)) for mean, deviation, effective in rows]
