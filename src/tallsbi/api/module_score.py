"""Any network that predicts the score, the noise, the data or a velocity, as a `Score` and a posterior of tallsbi.

The network takes theta_t = mean(t) v + std(t) z, with v the standardised latent parameter and z standard normal. With
c = sqrt(mean^2 + std^2), the state u = theta_t / c is that of a variance-preserving diffusion of v with alpha =
mean^2 / c^2, and its score is c times that of theta_t. Each of the four predictions gives the noise E[z | theta_t, x],
and the score is -E[z] / std.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tallsbi.algorithms.base import Problem
from tallsbi.api.engine import Engine
from tallsbi.priors.base import Prior
from tallsbi.schedule import NETWORK, Schedule
from tallsbi.scores.base import BoundScore, Score
from tallsbi.shapes import Observations, Scores, States

PREDICTIONS = ("noise", "score", "data", "velocity")
_PAIRS_AT_ONCE = 30_000  # samples times observations evaluated at once
_BISECTIONS = 60
_STEP = 1e-4  # of the difference quotient of mean(t) and std(t), for velocities

Coefficient = Callable[[float], float]


@dataclass(frozen=True, eq=False)
class Process:
    """mean(t) and std(t) of a diffusion on [t_min, t_max], and the schedule it becomes."""

    mean: Coefficient
    std: Coefficient
    t_min: float
    t_max: float
    schedule: Schedule
    is_schedule: bool  # the process is `schedule` itself

    @classmethod
    def of(cls, schedule: Any, t_min: float, t_max: float) -> Process:
        if isinstance(schedule, Schedule):
            return cls(schedule.sqrt_alpha, schedule.sigma, t_min, t_max, schedule, True)
        if not isinstance(schedule, (tuple, list)) or len(schedule) != 2 or not all(map(callable, schedule)):
            raise TypeError(
                f"schedule = {schedule!r}: give a tallsbi.schedule.Schedule, or a pair of functions (mean, std) of the "
                "time t, with theta_t = mean(t) theta_0 + std(t) z."
            )
        mean, std = schedule
        end, noise = float(mean(t_max)), float(std(t_max))
        if not (end > 0 and noise > 0):
            raise ValueError(
                f"schedule: mean({t_max:g}) = {end:g} and std({t_max:g}) = {noise:g}; both must be positive: set t_max "
                "to the largest time at which they are, such as 0.999."
            )
        return cls(
            mean, std, t_min, t_max, Schedule(quadratic=math.log1p((noise / end) ** 2), floor=0.0), False
        )

    def at(self, t: float) -> tuple[float, float, float, float]:
        """The network's time, mean and std there, and c."""
        tau = min(max(t, self.t_min), self.t_max) if self.is_schedule else self._time(t)
        mean, std = float(self.mean(tau)), float(self.std(tau))
        return tau, mean, std, 1.0 if self.is_schedule else math.hypot(mean, std)

    def _time(self, t: float) -> float:
        """Where std / mean, which grows with time, is that of the schedule at t."""
        ratio = math.sqrt(self.schedule.upsilon(t) / self.schedule.alpha(t))
        low, high = self.t_min, self.t_max
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = float(self.std(middle)) < ratio * float(self.mean(middle))
            low, high = (middle, high) if below else (low, middle)
        return 0.5 * (low + high)


class ModuleScore(Score):
    """The score of any network; theta and x are standardised as in its training."""

    def __init__(
        self, network: nn.Module, dim: int, shape: tuple[int, ...], predicts: str, process: Process
    ) -> None:
        self.dim, self.shape, self.predicts, self.process = dim, shape, predicts, process
        self.schedule = process.schedule
        # A copy, since weights are frozen here: Jacobians go forward through them.
        self.network = copy.deepcopy(network).eval().requires_grad_(False)

    def bind(self, x: Observations) -> BoundModuleScore:
        return BoundModuleScore(self, x)

    def predicted(self, theta: Float[Tensor, "N m"], x: Tensor, t: float) -> Float[Tensor, "N m"]:
        """The output of the network, checked."""
        result = self.network(theta, x, theta.new_full((len(theta),), t))
        if not isinstance(result, Tensor) or result.shape != theta.shape:
            shape = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
            raise ValueError(
                f"from_network: network(theta {tuple(theta.shape)}, x {tuple(x.shape)}, t {(len(theta),)}) returned "
                f"{shape}; it must return one vector for each theta, {tuple(theta.shape)}."
            )
        return result

    def noise(self, theta: Float[Tensor, "N m"], x: Tensor, t: float) -> Float[Tensor, "N m"]:
        """E[z | theta_t, x]."""
        value = self.predicted(theta, x, t)
        mean, std = float(self.process.mean(t)), float(self.process.std(t))
        if self.predicts == "noise":
            return value
        if self.predicts == "score":
            return -std * value
        if self.predicts == "data":
            return (theta - mean * value) / std
        # v = mean' E[theta_0] + std' E[z], and theta_t = mean E[theta_0] + std E[z].
        d_mean, d_std = (self._slope(function, t) for function in (self.process.mean, self.process.std))
        return (mean * value - d_mean * theta) / (mean * d_std - d_mean * std)

    def _slope(self, function: Coefficient, t: float) -> float:
        low, high = max(t - _STEP, self.process.t_min), min(t + _STEP, self.process.t_max)
        return (float(function(high)) - float(function(low))) / (high - low)


class BoundModuleScore(BoundScore):
    def __init__(self, score: ModuleScore, x: Float[Tensor, "B n d"]) -> None:
        self.score, self.x = score, x
        self.n, self.schedule = x.shape[1], score.schedule

    def chosen(self, datasets: Int[Tensor, "V"]) -> BoundModuleScore:
        return BoundModuleScore(self.score, self.x[datasets])

    def __call__(self, theta: States, t: float) -> Scores:
        tau, _, std, scale = self.score.process.at(t)
        B, m, n = theta.shape[0], theta.shape[2], self.n
        shape = self.score.shape
        blocks = []
        # Blocks are joined and not written in place: forward-mode differentiation passes through here.
        for block in (theta * scale).split(max(1, _PAIRS_AT_ONCE // (B * n)), 1):
            S = block.shape[1]
            states = block[:, :, None].expand(B, S, n, m).reshape(-1, m)
            x = self.x[:, None].expand(B, S, n, -1).reshape(-1, *shape)
            blocks.append(self.score.noise(states, x, tau).reshape(B, S, n, m))
        return torch.cat(blocks, 1) * (-scale / std)


@dataclass(frozen=True, eq=False)
class ModuleEngine(Engine):
    """Any network with its prior; `moments` are theta_mean, theta_std [m], x_mean and x_std [d]."""

    score: ModuleScore
    prior: Prior
    moments: Mapping[str, Tensor]
    dtype: torch.dtype = torch.float32

    @classmethod
    def of(
        cls,
        network: Any,
        prior: Prior,
        x_shape: tuple[int, ...],
        *,
        predicts: str = "noise",
        schedule: Any = NETWORK,
        t_min: float | None = None,
        t_max: float = 1.0,
        **moments: Any,
    ) -> ModuleEngine:
        if not isinstance(network, nn.Module):
            if not callable(network):
                raise TypeError(
                    f"from_network: network = {network!r}: give a torch module, network(theta, x, t)."
                )
            network = _Function(network)
        if predicts not in PREDICTIONS:
            raise ValueError(
                f"predicts = {predicts!r}: it must be one of {', '.join(map(repr, PREDICTIONS))}."
            )
        t_min = (0.0 if isinstance(schedule, Schedule) else 1e-3) if t_min is None else t_min
        if not 0 <= t_min < t_max:
            raise ValueError(f"t_min = {t_min!r}, t_max = {t_max!r}: give times with 0 <= t_min < t_max.")
        process = Process.of(schedule, t_min, t_max)
        sizes = {"theta": prior.dim, "x": math.prod(x_shape)}
        checked = {name: _moment(name, moments.get(name), sizes) for name in _MOMENTS}
        engine = cls(ModuleScore(network, prior.dim, x_shape, predicts, process), prior, checked)
        engine._check_call()
        return engine

    @property
    def x_dim(self) -> int:
        return math.prod(self.score.shape)

    def problem(self, x: Observations) -> Problem:
        m = self.moments
        prior = self.prior.to(dtype=torch.float64).normalised(m["theta_mean"], m["theta_std"])
        inputs = (x.double() - m["x_mean"]) / m["x_std"]
        return Problem(self.score, prior.to(dtype=self.dtype), inputs.to(self.dtype))

    def to_parameter(self, theta: States) -> States:
        return self.prior.to_parameter(theta * self.moments["theta_std"] + self.moments["theta_mean"])

    def options(self) -> dict[str, Any]:
        """What a file keeps beside the weights; functions of time cannot be stored."""
        process = self.score.process
        return {
            "predicts": self.score.predicts,
            "schedule": asdict(process.schedule) if process.is_schedule else None,
            "t_min": process.t_min,
            "t_max": process.t_max,
            "x_shape": list(self.score.shape),
        }

    @torch.no_grad()
    def _check_call(self) -> None:
        """Calls the network once, so that one that cannot be called fails here and not in a sampler."""
        x = torch.zeros(2, *self.score.shape)
        try:
            self.score.predicted(torch.zeros(2, self.prior.dim), x, self.score.process.t_max)
        except (TypeError, RuntimeError) as error:
            signature = ""
            if isinstance(self.score.network, nn.Module):
                signature = f" Its forward is {inspect.signature(self.score.network.forward)}."
            raise TypeError(
                f"from_network: network(theta [2, {self.prior.dim}], x {list(x.shape)}, t [2]) failed: {error}."
                f"{signature} Wrap it in a function with these three arguments."
            ) from error


_MOMENTS = ("theta_mean", "theta_std", "x_mean", "x_std")


def _moment(name: str, value: Any, sizes: Mapping[str, int]) -> Float[Tensor, "k"]:
    variable, statistic = name.split("_")
    default = 0.0 if statistic == "mean" else 1.0
    moment = torch.as_tensor(default if value is None else value).detach().double().flatten()
    size = sizes[variable]
    if moment.numel() not in (1, size) or (statistic == "std" and not bool((moment > 0).all())):
        raise ValueError(
            f"{name} = {value!r}: give {size} numbers, one per coordinate of {variable}"
            f"{', all positive' if statistic == 'std' else ''}."
        )
    return moment.expand(size).clone()


class _Function(nn.Module):
    """A plain function as a module without weights."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, theta: Tensor, x: Tensor, t: Tensor) -> Tensor:
        return self.function(theta, x, t)
