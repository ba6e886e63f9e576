"""A sampler's draws without and with clipping, from the same noise and in one pass.

The clipped run equals the plain one until a state leaves the box. From there on it has a path of its own, a fork, and
only forks are evaluated a second time. The plain states are evaluated exactly as in a run of their own, so that its
draws are the same to the last bit; forks of all datasets are evaluated together beside them, with the noise of the
samples they left. A fork joins its sample again once the two differ by rounding only.

A sampler that remembers earlier steps (`Sampler.stepper`), or a score that cannot be split by dataset, gets two runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tallsbi.compose.base import EventCount, TallScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Health, Noise, Sampler, Samples
from tallsbi.shapes import States

ROUNDING = 16.0  # by how many units in the last place, of one at least, states that count as equal may differ
_ROW = 2.0  # what a row of forks costs beside its samples, in samples


def run_both(
    sampler: Sampler,
    tall: TallScore,
    samples: int,
    noise: Noise,
    progress: Progress = iter,
    rounding: float = ROUNDING,
) -> tuple[Samples, Samples]:
    """The draws that `sampler` gives without its clipping, and those it gives with it."""
    if sampler.clip is None:
        raise ValueError(f"{type(sampler).__name__}(clip=None): there is no box to clip to.")
    own_loop = type(sampler).run is not Sampler.run or type(sampler).run_from is not Sampler.run_from
    remembers = type(sampler).stepper is not Sampler.stepper
    if own_loop or remembers or tall.chosen(torch.zeros(1, dtype=torch.int64)) is None:
        return _two_runs(sampler, tall, samples, noise, progress)
    return _OnePass(sampler, tall, noise, sampler.clip, rounding).run(samples, progress)


def _two_runs(
    sampler: Sampler, tall: TallScore, samples: int, noise: Noise, progress: Progress
) -> tuple[Samples, Samples]:
    start = noise.states()
    plain = replace(sampler, clip=None).run(tall, samples, noise, progress)
    noise.rewind(start)
    tall.lost_definiteness = EventCount(tall.datasets)
    return plain, sampler.run(tall, samples, noise, progress)


class _Recorded(Noise):
    """Noise that remembers what was drawn."""

    def __init__(self, noise: Noise) -> None:
        super().__init__(noise.generators, noise.dtype)
        self._noise = noise
        self.drawn: list[States] = []

    def __call__(self, datasets: int, samples: int, dim: int) -> States:
        self.drawn.append(self._noise(datasets, samples, dim))
        return self.drawn[-1]


class _Replayed(Noise):
    """What was drawn for the plain samples, once more for their forks."""

    def __init__(self, recorded: _Recorded, layout: _Layout) -> None:
        super().__init__(recorded.generators, recorded.dtype)
        self._drawn, self._layout = iter(recorded.drawn), layout

    def __call__(self, datasets: int, samples: int, dim: int) -> States:
        return self._layout.packed(next(self._drawn).flatten(0, 1)[self._layout.places])


@dataclass(frozen=True, eq=False)
class _Layout:
    """Forks in rows of equal length, each row of one dataset.

    `places`: which of the B * S samples each fork left, ascending; `row` and `column` are where the fork is.
    """

    places: Int[Tensor, "F"]
    row: Int[Tensor, "F"]
    column: Int[Tensor, "F"]
    datasets: Int[Tensor, "V"]
    width: int

    @classmethod
    def of(cls, places: Int[Tensor, "F"], datasets: int, samples: int) -> _Layout:
        dataset = places // samples
        count = torch.bincount(dataset, minlength=datasets)
        width = _width(count)
        rows = (count + width - 1) // width
        rank = torch.arange(len(places), device=places.device) - (count.cumsum(0) - count)[dataset]
        row = (rows.cumsum(0) - rows)[dataset] + rank // width
        owners = torch.arange(datasets, device=places.device).repeat_interleave(rows)
        return cls(places, row, rank % width, owners, width)

    def packed(self, values: Float[Tensor, "F m"]) -> Float[Tensor, "V W m"]:
        """Forks in their rows; places without a fork are zero."""
        rows = values.new_zeros(len(self.datasets), self.width, values.shape[-1])
        rows[self.row, self.column] = values
        return rows

    def unpacked(self, rows: Float[Tensor, "V W m"]) -> Float[Tensor, "F m"]:
        return rows[self.row, self.column]


def _width(count: Int[Tensor, "B"]) -> int:
    """The length of rows with the least work: short rows are many, long ones are not filled."""
    most = int(count.max())
    widths = sorted({most, *(2**k for k in range(most.bit_length()))})

    def work(width: int) -> float:
        return float(((count + width - 1) // width).sum()) * (width + _ROW)

    return min(widths, key=work)


class _PlainCount(EventCount):
    """Counts for the plain run, and for the clipped one where it has no fork."""

    def __init__(self, datasets: int, clipped: EventCount) -> None:
        super().__init__(datasets)
        self.clipped = clipped
        self.forked: Bool[Tensor, "B S"] | None = None

    def add(self, happened: Bool[Tensor, "B S"], t: float) -> None:
        super().add(happened, t)
        self.clipped.add(happened if self.forked is None else happened & ~self.forked, t)


class _ForkCount(EventCount):
    """Counts what happens to forks for the clipped run."""

    def __init__(self, clipped: EventCount, layout: _Layout) -> None:
        super().__init__(len(layout.datasets))
        self.clipped, self.layout = clipped, layout

    def add(self, happened: Bool[Tensor, "V W"], t: float) -> None:
        layout = self.layout
        events = happened[layout.row, layout.column]
        if bool(events.any()):
            owners = layout.datasets[layout.row[events]]
            self.clipped.add_numbers(torch.bincount(owners, minlength=len(self.clipped.count)).cpu(), t)


class _OnePass:
    """One run: the plain states, and the states of the forks by the places they left."""

    def __init__(self, sampler: Sampler, tall: TallScore, noise: Noise, clip: float, rounding: float) -> None:
        self.sampler, self.tall, self.clip = sampler, tall, clip
        self.noise = _Recorded(noise)
        self.rounding = rounding * torch.finfo(noise.dtype).eps
        self.lost_clipped = EventCount(tall.datasets)
        self.lost_plain = _PlainCount(tall.datasets, self.lost_clipped)
        tall.lost_definiteness = self.lost_plain

    def run(self, samples: int, progress: Progress) -> tuple[Samples, Samples]:
        tall = self.tall
        theta = self.noise(tall.datasets, samples, tall.dim)
        step = self.sampler.stepper(tall, self.noise)
        places = torch.empty(0, dtype=torch.int64, device=theta.device)
        forks = theta.new_empty(0, tall.dim)
        nonfinite, clipped_nonfinite = EventCount(tall.datasets), EventCount(tall.datasets)
        for t, s in progress(list(pairwise(self.sampler.grid(tall.schedule)))):
            self.noise.drawn.clear()
            self.lost_plain.forked = _mask(theta, places) if len(places) else None
            theta = step(theta, t, s)
            if len(places):
                forks = self._moved(forks, places, t, s, samples)
            places, forks = self._parted(theta, places, forks)
            if not bool(theta.isfinite().all()):
                nonfinite.add(~theta.isfinite().all(-1), s)
            if bool(theta.isnan().any()) or not bool(forks.isfinite().all()):
                clipped_nonfinite.add(~self._clipped(theta, places, forks).isfinite().all(-1), s)
        clipped = self._clipped(theta, places, forks)
        return (
            Samples(theta, _health(theta, self.lost_plain, nonfinite)),
            Samples(clipped, _health(clipped, self.lost_clipped, clipped_nonfinite)),
        )

    def _moved(self, forks: Tensor, places: Tensor, t: float, s: float, samples: int) -> Float[Tensor, "F m"]:
        """The forks one step on, with the noise of the plain step."""
        layout = _Layout.of(places, self.tall.datasets, samples)
        tall = self.tall.chosen(layout.datasets)
        assert tall is not None  # `run_both` has tried
        tall.lost_definiteness = _ForkCount(self.lost_clipped, layout)
        noise = _Replayed(self.noise, layout)
        moved = self.sampler.step(tall, layout.packed(forks), t, s, noise)
        return layout.unpacked(moved).clamp_(-self.clip, self.clip)

    def _parted(self, theta: States, places: Tensor, forks: Tensor) -> tuple[Tensor, Tensor]:
        """Which samples have a fork after this step, and its state."""
        flat = theta.flatten(0, 1)
        inside = flat.clamp(-self.clip, self.clip)
        inside[places] = forks
        # The bound does not grow beyond the box: an infinite state must differ from its edge.
        scale = flat.abs().clamp(1.0, max(1.0, self.clip))
        same = (inside - flat).abs() <= self.rounding * scale
        same |= inside.isnan() & flat.isnan()  # lost in both runs
        places = (~same.all(-1)).nonzero()[:, 0]
        return places, inside[places]

    def _clipped(self, theta: States, places: Tensor, forks: Tensor) -> States:
        clipped = theta.clamp(-self.clip, self.clip)
        clipped.view(-1, clipped.shape[-1])[places] = forks
        return clipped


def _mask(theta: States, places: Tensor) -> Bool[Tensor, "B S"]:
    mask = torch.zeros(theta.shape[0] * theta.shape[1], dtype=torch.bool, device=theta.device)
    mask[places] = True
    return mask.view(theta.shape[:2])


def _health(theta: States, lost: EventCount, nonfinite: EventCount) -> Health:
    return Health(
        lost_definiteness=lost.count,
        lost_definiteness_time=lost.first_time,
        nonfinite=(~theta.isfinite().all(-1)).sum(1).cpu(),
        nonfinite_time=nonfinite.first_time,
    )
