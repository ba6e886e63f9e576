"""Draws of the toy posteriors (section 4.1), with exact scores that are off by a perturbation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.samplers.base import Noise, Samples
from tallsbi.scores.perturbed import Perturbation, PerturbedScore
from tallsbi.study.settings.toy import ToyCell, ToySampleSettings
from tallsbi.study.stages.draws import Datasets, Stream, tall_draws
from tallsbi.study.stages.health import prior_variables
from tallsbi.study.tasks.toy import Toy, make_toy

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class ToyEngine:
    """Solves the datasets of a toy problem with a score that is off by eps."""

    toy: Toy
    eps: float
    dtype: torch.dtype
    device: str = "cpu"

    def problem(self, x: Float[Tensor, "B n m"]) -> Problem:
        placement = {"dtype": self.dtype, "device": self.device}
        net = Perturbation(*(part.to(**placement) for part in vars(self.toy.perturbation).values()))
        score = PerturbedScore(self.toy.score(self.dtype, self.device), net, self.eps)
        return Problem(score, self.toy.prior.to(**placement), x.to(**placement))

    def sample(
        self, algorithm: Algorithm, x: Float[Tensor, "B n m"], samples: int, generators: list[torch.Generator]
    ) -> Samples:
        return algorithm.sample(self.problem(x), samples, Noise(generators, self.dtype))


def toy_stream(cell: ToyCell, method: str, steps: int) -> Stream:
    """The stream of a seed does not depend on the noise level: differences between levels are due to the noise."""
    return lambda n, number: ("toy", cell.problem, cell.m, number, method, steps, n)


def sample_toy(settings: ToySampleSettings, progress: Callable = iter) -> xr.Dataset:
    """Draws [n, seed, sample, parameter] of one method for every n and every seed, with the health of each run."""
    cell = settings.cell
    toy = make_toy(cell, max(settings.n_obs), settings.seed)
    run = tall_draws(
        ToyEngine(toy, settings.noise, getattr(torch, settings.dtype), settings.device),
        settings.methods.algorithm(settings.name, steps=settings.steps),
        Datasets(toy.x, range(cell.seeds), axis="seed"),
        settings.n_obs,
        settings.samples,
        settings.seed,
        toy_stream(cell, settings.name, settings.steps),
        device=settings.device,
        progress=progress,
    )
    return run.assign(prior_variables(toy.prior, "seed")).assign_attrs(
        problem=cell.problem, m=cell.m, noise=settings.noise, method=settings.name
    )
