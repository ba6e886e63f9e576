"""Where the simulations of a training lie, and which observations are far from them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.shapes import Observations

FAR_FACTOR = 1.5  # times the distance of the farthest simulation
_MOST_COLUMNS = 300  # for which all directions of x are looked at; of more, the leading ones
_LEADING_DIRECTIONS = 50
_LEAST_VARIANCE_SHARE = 1e-8  # of the largest variance: what is below is rounding


class FarObservations(UserWarning):
    """Observations unlike anything the network was trained on."""


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRange:
    """Mean and spread of the simulated x, and the distance of the farthest one.

    `whiten` [r, d] maps standardised observations to unit covariance; the length of the result is the Mahalanobis
    distance. Columns of x that never vary have the spread 0.
    """

    mean: Float[Tensor, "d"]
    std: Float[Tensor, "d"]
    whiten: Float[Tensor, "r d"]
    farthest: float

    def __repr__(self) -> str:
        return f"TrainingRange({len(self.mean)} numbers, farthest simulation at {self.farthest:.3g})"

    @classmethod
    def of(cls, x: Float[Tensor, "N d"]) -> TrainingRange:
        x = x.double()
        constant = x.amin(0) == x.amax(0)
        mean, std = torch.where(constant, x[0], x.mean(0)), torch.where(constant, 0.0, x.std(0))
        standard = torch.where(constant, 0.0, (x - mean) / torch.where(constant, 1.0, std))
        if x.shape[1] <= _MOST_COLUMNS:
            values, axes = torch.linalg.eigh(standard.mT @ standard / (len(x) - 1))
        else:
            # Images and long series: the leading directions only.
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                _, singular, axes = torch.svd_lowrank(
                    standard, q=min(_LEADING_DIRECTIONS, len(x) - 1), niter=2
                )
            values = singular.square() / (len(x) - 1)
        kept = values > _LEAST_VARIANCE_SHARE * values.max()
        whiten = (axes[:, kept] / values[kept].sqrt()).mT
        return cls(mean, std, whiten, float((standard @ whiten.mT).norm(dim=1).max()))

    def distances(self, x: Observations) -> Float[Tensor, "B n"]:
        """Mahalanobis distances; infinite where a column that never varied has another value."""
        varies = self.std > 0
        standard = torch.where(varies, (x - self.mean) / torch.where(varies, self.std, 1.0), 0.0)
        differs = (~varies & (x != self.mean)).any(-1)
        return torch.where(differs, torch.inf, (standard @ self.whiten.mT).norm(dim=-1))

    def warn(self, x: Observations) -> None:
        """Warns of observations far beyond all simulations."""
        distances = self.distances(x)
        far = distances > FAR_FACTOR * self.farthest
        if not bool(far.any()):
            return
        dataset, observation = divmod(int(distances.argmax()), x.shape[1])
        distance = float(distances[dataset, observation])
        offset = (x[dataset, observation] - self.mean) / self.std.clamp_min(1e-300)
        coordinate = int(offset.abs().argmax())
        value = float(x[dataset, observation, coordinate])
        differs = (self.std == 0) & (x[dataset, observation] != self.mean)
        shown = "infinite (a value that never varied)" if bool(differs.any()) else f"{distance:.3g}"
        warnings.warn(
            f"{int(far.sum())} of {far.numel()} observations are far outside the training range. The farthest is "
            f"observation {observation} of dataset {dataset}: Mahalanobis distance {shown}, the farthest simulation "
            f"has {self.farthest:.3g}; its coordinate {coordinate} is {value:.4g}, "
            f"simulated {float(self.mean[coordinate]):.4g} +- {float(self.std[coordinate]):.4g}. The network "
            "extrapolates there: check the simulator or the data.",
            FarObservations,
            stacklevel=4,  # the caller of `TallPosterior.sample`
        )

    def tensors(self) -> dict[str, Tensor]:
        return {"mean": self.mean, "std": self.std, "whiten": self.whiten}

    @classmethod
    def restored(cls, tensors: Mapping[str, Tensor], farthest: float) -> TrainingRange:
        return cls(tensors["mean"], tensors["std"], tensors["whiten"], farthest)
