"""What users hand in, checked: arrays of any kind, simulators, and observations the network knows nothing of."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi import algorithms
from tallsbi.algorithms.base import Algorithm
from tallsbi.priors.base import Prior
from tallsbi.random import integer_seed, torch_generator

Simulator = Callable[[Tensor], Any]
"""Parameters [N, m] (torch, float32) in, one observation each out: [N, d], torch, numpy or lists."""

METHOD = "GAUSS_PD"
"""What draws unless another method is named."""
FAR = 1.5  # times the distance of the farthest simulation
_RELATIVE = 1e-8  # a variance below this share of the largest is rounding


class FarObservations(UserWarning):
    """Observations unlike anything the network was trained on."""


class AnotherPrior(UserWarning):
    """Parameters that were not drawn from the prior."""


def as_tensor(values: Any, name: str) -> Tensor:
    """Numbers in a floating-point tensor on the CPU; lists and numpy arrays are taken too."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name}: a masked array with missing values; leave out what is missing, or fill it in."
        )
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        values = values.to_dense() if values.layout != torch.strided else values
        if values.is_complex():
            raise ValueError(f"{name}: holds {values.dtype}; give real numbers.")
    else:
        try:
            array = np.asarray(values)
            if array.dtype.kind not in "fiub":
                raise TypeError(f"holds {array.dtype}")
            # A copy: torch shares memory otherwise, and refuses arrays that are read-only or reversed.
            values = torch.from_numpy(np.array(array))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name}: not an array of numbers ({error}); give a torch tensor, a numpy array or lists of "
                "equal lengths."
            ) from error
    return values if values.is_floating_point() else values.double()


def observations(x: Any, dim: int, name: str = "x_obs") -> Float[Tensor, "B n d"]:
    """Datasets [B, n, d] in float64 from [n, d] or [B, n, d]; every value finite."""
    x = as_tensor(x, name).double()
    if x.ndim not in (2, 3):
        hint = f"; give {name}[:, None]" if x.ndim == 1 and dim == 1 else ""
        hint = hint or (f"; one observation is {name}[None]" if x.ndim == 1 and len(x) == dim else "")
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}: give n observations of one dataset, [n, {dim}], or of B "
            f"datasets, [B, n, {dim}]{hint}."
        )
    given = tuple(x.shape)
    x = x[None] if x.ndim == 2 else x
    if x.shape[-1] != dim:
        raise ValueError(
            f"{name} has observations of {x.shape[-1]} numbers, shape {given}; the network was trained "
            f"on {dim} numbers each: the last axis must be {dim}."
        )
    if x.shape[0] == 0 or x.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {given}, without a single observation; without observations the posterior "
            "is the prior."
        )
    if not bool(x.isfinite().all()):
        dataset, observation, coordinate = (int(i) for i in (~x.isfinite()).nonzero()[0])
        rows = int((~x.isfinite()).any(-1).sum())
        raise ValueError(
            f"{name}: observation {observation} of dataset {dataset} is {float(x[dataset, observation, coordinate])}"
            f" in coordinate {coordinate} ({rows} of {x.shape[0] * x.shape[1]} observations are not finite); leave "
            "such observations out."
        )
    return x


def count(value: Any, name: str) -> int:
    """A positive integer."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 1:
        raise ValueError(f"{name} = {value!r}: it must be a positive integer.")
    return int(value)


def algorithm(method: Any, settings: Any, clip: Any) -> Algorithm:
    """The method with its settings, each checked before anything is drawn."""
    if not isinstance(method, str):
        raise TypeError(f"method = {method!r}: give the name of a method, such as {METHOD!r}.")
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings = {settings!r}: give a mapping, such as {{'steps': 150}}.")
    if isinstance(clip, bool) or not isinstance(clip, (int, float)) or not 0 < clip < math.inf:
        raise ValueError(f"clip = {clip!r}: it must be a positive number.")
    chosen = dict(settings or {})
    algorithms.check_settings(method, chosen, "settings[{key!r}]")
    for key, value in chosen.items():
        if key.endswith("steps") or key.endswith("samples"):
            chosen[key] = count(value, f"settings[{key!r}]")
    return algorithms.build(method, chosen, clip=clip)


def widths(hidden: Any) -> tuple[int, ...]:
    """The widths of the hidden layers."""
    if isinstance(hidden, (str, bytes)) or not isinstance(hidden, Iterable) or not list(hidden):
        raise ValueError(f"hidden = {hidden!r}: give the widths of the hidden layers, such as (128, 128).")
    return tuple(count(width, "hidden") for width in hidden)


def training_pairs(
    prior: Prior, source: Any, simulations: int, seed: int
) -> tuple[Float[Tensor, "N m"], Float[Tensor, "N d"]]:
    """Parameters and observations in float32, simulated or given as a pair (theta, x)."""
    if callable(source):
        theta = prior.sample(
            count(simulations, "simulations"), torch_generator(seed, "api", "parameters")
        ).float()
        return theta, simulate(source, theta, integer_seed(seed, "api", "simulator"))
    if not isinstance(source, (tuple, list)) or len(source) != 2:
        raise TypeError(
            f"the second argument is {type(source).__name__}: give a simulator, a function from theta [N, m] to "
            "x [N, d], or a pair (theta, x)."
        )
    theta, x = (as_tensor(values, name).float() for values, name in zip(source, ("theta", "x"), strict=True))
    if theta.ndim != 2 or theta.shape[1] != prior.dim:
        raise ValueError(
            f"theta has shape {tuple(theta.shape)}; the prior has {prior.dim} coordinates: give [N, {prior.dim}]."
        )
    finite = theta.isfinite().all(1)
    if not bool(finite.all()):
        raise ValueError(
            f"theta: {int((~finite).sum())} of {len(theta)} rows are not finite, the first is row "
            f"{int((~finite).nonzero()[0])}; leave them out together with their observations."
        )
    outside = ~prior.log_prob(theta.double()).isfinite()
    if bool(outside.any()):
        row = int(outside.nonzero()[0])
        raise ValueError(
            f"theta: {int(outside.sum())} of {len(theta)} rows are outside the prior's support, the first is row "
            f"{row}, {theta[row].tolist()}; simulate with parameters drawn from this prior."
        )
    warn_of_another_prior(prior, theta)
    return theta, _one_each(
        x, len(theta), "x", "theta and x need the same number of rows, one observation each"
    )


def simulate(simulator: Simulator, theta: Float[Tensor, "N m"], seed: int) -> Float[Tensor, "N d"]:
    """One observation per row, in float32; the same for the same seed if the simulator draws globally."""
    with _global_streams(seed):
        x = simulator(theta.clone())
    return _one_each(
        as_tensor(x, "the simulator's result").float(),
        len(theta),
        "the simulator's result",
        "a simulator is called with all parameters at once; wrap one that takes a single vector as "
        "lambda theta: torch.stack([simulate(row) for row in theta])",
    )


def _one_each(x: Tensor, rows: int, name: str, hint: str) -> Float[Tensor, "N d"]:
    if x.ndim != 2 or len(x) != rows or not x.shape[1]:
        hint = "for numbers, add an axis: x[:, None]" if x.shape == (rows,) else hint
        raise ValueError(
            f"{name} has shape {tuple(x.shape)} for {rows} parameters: expected [{rows}, d]; {hint}."
        )
    finite = x.isfinite().all(1)
    if not bool(finite.all()):
        raise ValueError(
            f"{name}: {int((~finite).sum())} of {rows} simulations are not finite, the first is row "
            f"{int((~finite).nonzero()[0])}; mark a failure by a finite number of its own, since leaving failures "
            "out changes the posterior."
        )
    return x


def warn_of_another_prior(prior: Prior, theta: Float[Tensor, "N m"]) -> None:
    """Says where parameters are not spread like the prior: it is divided out n - 1 times."""
    if len(theta) < 2:
        return
    latent, mean = prior.to_latent(theta.double()), prior.latent_mean()[0]
    sd = prior.covariance()[0].diagonal().sqrt()
    given = latent.mean(0), latent.std(0)
    bar = max(6 / math.sqrt(len(latent)), 0.1)  # six standard errors of a mean, and a tenth
    wrong = (((given[0] - mean) / sd).abs() > bar) | ((given[1] / sd).log().abs() > bar)
    if bool(wrong.any()):
        k = int(wrong.nonzero()[0])
        warnings.warn(
            f"theta does not look like draws of the prior: coordinate {k} has mean {float(given[0][k]):.3g} and "
            f"standard deviation {float(given[1][k]):.3g} (in the space where the prior is Gaussian or uniform), the "
            f"prior has {float(mean[k]):.3g} and {float(sd[k]):.3g}. The prior is divided out n - 1 times: with "
            "another one than theta was drawn from, the posterior of many observations is wrong.",
            AnotherPrior,
            stacklevel=4,
        )


@contextmanager
def _global_streams(seed: int) -> Iterator[None]:
    """Seeds torch's and numpy's global random streams, and puts them back where they were."""
    state = np.random.get_state()  # noqa: NPY002 (the stream a simulator may draw from)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


@dataclass(frozen=True, eq=False)
class TrainingRange:
    """Where the simulations lie: mean and spread of x, and the distance of the farthest one.

    `whiten` [r, d] maps standardised observations to unit covariance; the length of the result is the Mahalanobis
    distance. Columns of x that never vary have the spread 0.
    """

    mean: Float[Tensor, "d"]
    std: Float[Tensor, "d"]
    whiten: Float[Tensor, "r d"]
    farthest: float

    @classmethod
    def of(cls, x: Float[Tensor, "N d"]) -> TrainingRange:
        x = x.double()
        constant = x.amin(0) == x.amax(0)
        mean, std = torch.where(constant, x[0], x.mean(0)), torch.where(constant, 0.0, x.std(0))
        standard = torch.where(constant, 0.0, (x - mean) / torch.where(constant, 1.0, std))
        values, axes = torch.linalg.eigh(standard.mT @ standard / (len(x) - 1))
        kept = values > _RELATIVE * values.max()
        whiten = (axes[:, kept] / values[kept].sqrt()).mT
        return cls(mean, std, whiten, float((standard @ whiten.mT).norm(dim=1).max()))

    def distances(self, x: Float[Tensor, "B n d"]) -> Float[Tensor, "B n"]:
        """Mahalanobis distances; infinite where a column that never varied has another value."""
        known = self.std > 0
        standard = torch.where(known, (x - self.mean) / torch.where(known, self.std, 1.0), 0.0)
        new = (~known & (x != self.mean)).any(-1)
        return torch.where(new, torch.inf, (standard @ self.whiten.mT).norm(dim=-1))

    def warn(self, x: Float[Tensor, "B n d"]) -> None:
        """Says which observations are far beyond all simulations, and how far."""
        distances = self.distances(x)
        far = distances > FAR * self.farthest
        if not bool(far.any()):
            return
        dataset, observation = divmod(int(distances.argmax()), x.shape[1])
        distance = float(distances[dataset, observation])
        offset = (x[dataset, observation] - self.mean) / self.std.clamp_min(1e-300)
        coordinate = int(offset.abs().argmax())
        value = float(x[dataset, observation, coordinate])
        never = (self.std == 0) & (x[dataset, observation] != self.mean)
        how = "infinite (a value that never varied)" if bool(never.any()) else f"{distance:.3g}"
        warnings.warn(
            f"{int(far.sum())} of {far.numel()} observations are far outside the training range. The farthest is "
            f"observation {observation} of dataset {dataset}: Mahalanobis distance {how}, the farthest simulation "
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
