"""The loop every sampler shares: from N(0, I) at t = 1 down the grid to t = 0, equations (4) and (7) of the paper.

A sampler implements one `step(tall, theta, t, s, noise)`. The loop clips the state where asked, watches for
non-finite states and returns them with the samples: a diverging run is a result, not a crash. A sampler may
also choose its own grid (`grid`) and remember what it needs from one step to the next (`stepper`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tallsbi.compose.base import EventCount, TallScore
from tallsbi.progress import Progress
from tallsbi.schedule import Schedule, time_grid
from tallsbi.shapes import States

Stepper = Callable[[Tensor, float, float], Tensor]


class Noise:
    """Standard normal draws, reproducible dataset by dataset.

    With one generator per dataset, the draws of a dataset do not depend on the others of the call. A single
    generator serves any number of datasets. Draws are made where the generators are and moved to `device`, so that
    generators on the CPU give every device the same noise.
    """

    def __init__(
        self,
        generators: list[torch.Generator],
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        if not generators:
            raise ValueError("Noise needs at least one generator.")
        self.generators, self.dtype = generators, dtype
        self.device = generators[0].device if device is None else torch.device(device)

    def __call__(self, datasets: int, samples: int, dim: int) -> States:
        if len(self.generators) == 1:
            return self._draw(self.generators[0], datasets, samples, dim)
        if len(self.generators) != datasets:
            raise ValueError(
                f"Noise has {len(self.generators)} generators for {datasets} datasets; give one or one each."
            )
        return torch.stack([self._draw(generator, samples, dim) for generator in self.generators])

    def states(self) -> list[Tensor]:
        """The states of the generators, for `rewind`."""
        return [generator.get_state() for generator in self.generators]

    def rewind(self, states: list[Tensor]) -> None:
        for generator, state in zip(self.generators, states, strict=True):
            generator.set_state(state)

    def _draw(self, generator: torch.Generator, *shape: int) -> Tensor:
        drawn = torch.randn(*shape, generator=generator, dtype=self.dtype, device=generator.device)
        return drawn.to(self.device)


@dataclass(frozen=True)
class Health:
    """What went wrong in a run, per dataset: counts, and the diffusion time of the first failure (NaN: none)."""

    lost_definiteness: Int[Tensor, "B"]
    lost_definiteness_time: Float[Tensor, "B"]
    nonfinite: Int[Tensor, "B"]
    nonfinite_time: Float[Tensor, "B"]


@dataclass(frozen=True)
class Samples:
    """Draws of B tall posteriors and the health of the run."""

    theta: States
    health: Health


@dataclass(frozen=True, kw_only=True)
class Sampler(ABC):
    """`steps` grid steps; `clip` keeps the state inside [-clip, clip] after each of them."""

    steps: int
    clip: float | None = None

    @abstractmethod
    def step(self, tall: TallScore, theta: States, t: float, s: float, noise: Noise) -> States:
        """Move the samples from time t to time s < t."""

    @property
    def evaluations(self) -> int:
        """How often a run evaluates the tall score."""
        return self.steps

    def grid(self, schedule: Schedule) -> list[float]:
        """The times visited, from 1 down to 0: uniform unless overridden."""
        return time_grid(self.steps)

    def stepper(self, tall: TallScore, noise: Noise) -> Stepper:
        """The steps of one run, as a function (theta, t, s). A sampler whose steps need earlier ones overrides it."""
        return lambda theta, t, s: self.step(tall, theta, t, s, noise)

    def run(self, tall: TallScore, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        return self.run_from(noise(tall.datasets, samples, tall.dim), tall, noise, progress)

    def run_from(self, start: States, tall: TallScore, noise: Noise, progress: Progress = iter) -> Samples:
        """Runs the sampler from given states at t = 1."""
        theta, step = start, self.stepper(tall, noise)
        nonfinite = EventCount(tall.datasets)
        for t, s in progress(list(pairwise(self.grid(tall.schedule)))):
            theta = step(theta, t, s)
            if self.clip is not None:
                theta = theta.clamp_(-self.clip, self.clip)
            finite = theta.isfinite()
            # On a GPU the question alone would make the host wait at every step.
            if theta.device.type != "cpu" or not bool(finite.all()):
                nonfinite.add(~finite.all(-1), s)
        health = Health(
            lost_definiteness=tall.lost_definiteness.count,
            lost_definiteness_time=tall.lost_definiteness.first_time,
            nonfinite=(~theta.isfinite().all(-1)).sum(1).cpu(),
            nonfinite_time=nonfinite.first_time,
        )
        return Samples(theta, health)


@dataclass(frozen=True, kw_only=True)
class RepeatingSampler(Sampler):
    """Moves the state `inner_steps` times at every time of the grid."""

    inner_steps: int = 5

    @property
    def evaluations(self) -> int:
        return self.steps * self.inner_steps
