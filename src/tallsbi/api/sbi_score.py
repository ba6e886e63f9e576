"""Networks trained by the `sbi` package (NPSE and flow matching), as a `Score` and a posterior of tallsbi.

sbi diffuses theta in its own units, theta_tau = mu(tau) theta_0 + s(tau) z, with mu and s those of its VP, VE or
sub-VP process. With v = theta - shift and c = sqrt(mu^2 + s^2), the state u = (theta_tau - mu shift) / c is that of
a variance-preserving diffusion of v with alpha = mu^2 / c^2, and its score is

    score_u(u, t) = c score_sbi(c u + mu shift, tau).

So every process becomes a `Schedule`, with tau(t) chosen such that alpha agrees: for VP tau = t. The shift is the mean
that sbi standardises with; it moves the state at t = 1 to mean zero, where samplers start. Networks with
`compose_standardization` diffuse (theta - shift) / scale instead, which is the latent space itself.

Flow matching has mu = 1 - tau and s = tau + noise_scale, and its network predicts z - theta_0, from which the score
follows. It ends where mu is 0; the schedule ends a little before.

Below its `t_min` a network has never been trained; the score is taken at `t_min` there, as the density hardly
changes any more.
"""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tallsbi.algorithms.base import Problem
from tallsbi.api.engine import Engine
from tallsbi.api.pairs import AnotherPrior
from tallsbi.priors.base import Prior
from tallsbi.schedule import Schedule
from tallsbi.scores.base import BoundScore, Score
from tallsbi.shapes import Observations, Scores, States

_PAIRS_AT_ONCE = 30_000  # samples times observations evaluated at once
_END_OF_FLOW = 0.999  # where a thousandth of the signal is left; at 1 none is, and no schedule has alpha = 0
_LARGEST_SIGNAL = 0.5  # of theta at t = 1, as a share of the noise; samplers start from noise alone


class SbiScore(Score):
    """The score of an sbi estimator in the shifted space described above; x as sbi takes it."""

    def __init__(self, estimator: Any) -> None:
        self.process = _process(estimator)
        self.schedule = self.process.schedule
        (self.dim,), self.shape = estimator.input_shape, tuple(estimator.condition_shape)
        self.x_dim = math.prod(self.shape)
        self.original = copy.deepcopy(estimator)
        # A copy, since weights are frozen here: Jacobians go forward through them.
        self.estimator = copy.deepcopy(estimator).eval().requires_grad_(False)
        self.embedding = self.estimator._embedding_net
        # Observations are embedded once, when they are bound, not for every sample and step.
        self.estimator._embedding_net = nn.Identity()
        if estimator.compose_enabled:
            self.shift, self.scale = (
                estimator._theta_shift.reshape(-1).clone(),
                estimator._theta_scale.reshape(-1).clone(),
            )
            self.centre = torch.zeros_like(self.shift)
            self.spread = torch.ones_like(self.shift)
        else:
            self.shift = estimator.mean_0.reshape(-1).expand(self.dim).clone()
            self.scale = torch.ones_like(self.shift)
            self.centre = self.shift
            self.spread = estimator.std_0.reshape(-1).expand(self.dim).clone()

    @torch.no_grad()
    def bind(self, x: Observations) -> BoundSbiScore:
        embedded = self.embedding(x.reshape(-1, *self.shape)).unflatten(0, x.shape[:2])
        # The rest of the network gets embedded observations, which may have another shape than x.
        self.estimator._condition_shape = embedded.shape[2:]
        return BoundSbiScore(self, embedded)

    def evaluate(self, theta: Tensor, embedded: Tensor, tau: float) -> Tensor:
        """The score in sbi's own units."""
        time = theta.new_tensor(tau)
        if self.process.kind != "flow":
            return self.estimator.score(theta, embedded, time)
        velocity = self.estimator(theta, embedded, time)
        return -(theta + (1 - tau) * velocity) / ((1 + self.process.low) * (tau + self.process.low))


class BoundSbiScore(BoundScore):
    def __init__(self, score: SbiScore, embedded: Float[Tensor, "B n *e"]) -> None:
        self.score, self.embedded = score, embedded
        self.n, self.schedule = embedded.shape[1], score.schedule

    def chosen(self, datasets: Int[Tensor, "V"]) -> BoundSbiScore:
        return BoundSbiScore(self.score, self.embedded[datasets])

    def __call__(self, theta: States, t: float) -> Scores:
        tau, mu, scale = self.score.process.at(t)
        samples = max(1, _PAIRS_AT_ONCE // (theta.shape[0] * self.n))
        state = theta * scale + mu * self.score.centre.to(theta)
        # Blocks are joined and not written in place: forward-mode differentiation passes through here.
        blocks = [
            self.score.evaluate(block[:, :, None], self.embedded[:, None], tau)
            for block in state.split(samples, 1)
        ]
        return torch.cat(blocks, 1) * scale


@dataclass(frozen=True)
class _Process:
    """mu(tau) and s(tau) of an sbi process on [t_min, t_max], and the schedule it becomes."""

    kind: str
    low: float  # beta_min, sigma_min of VE, or the noise scale of flow matching
    high: float
    t_min: float
    t_max: float

    @property
    def schedule(self) -> Schedule:
        if self.kind == "VP":
            return Schedule(quadratic=0.5 * (self.high - self.low), linear=self.low, floor=0.0)
        # Any schedule serves that ends where the process does.
        mu, s = self._coefficients(self.t_max)
        return Schedule(quadratic=math.log1p((s / mu) ** 2), floor=0.0)

    def at(self, t: float) -> tuple[float, float, float]:
        """tau(t) in the trained range, mu there, and c = sqrt(mu^2 + s^2)."""
        tau = min(max(self._time(t), self.t_min), self.t_max)
        mu, s = self._coefficients(tau)
        return tau, mu, math.hypot(mu, s)

    def _time(self, t: float) -> float:
        if self.kind == "VP":
            return t
        schedule = self.schedule
        ratio = schedule.upsilon(t) / schedule.alpha(t)  # s^2 / mu^2
        if self.kind == "flow":
            return (math.sqrt(ratio) - self.low) / (1 + math.sqrt(ratio))
        if self.kind == "VE":
            return 0.5 * math.log(ratio / self.low**2) / math.log(self.high / self.low)
        # Sub-VP: mu^2 = a and s = 1 - a with a = exp(-b(tau)), so (1 - a)^2 = ratio a.
        a = 2 / (2 + ratio + math.sqrt(ratio * (ratio + 4)))
        b = -math.log(a)
        half = 0.5 * (self.high - self.low)
        return 2 * b / (self.low + math.sqrt(self.low**2 + 4 * half * b))

    def _coefficients(self, tau: float) -> tuple[float, float]:
        if self.kind == "flow":
            return 1 - tau, tau + self.low
        if self.kind == "VE":
            return 1.0, self.low * (self.high / self.low) ** tau
        b = 0.5 * (self.high - self.low) * tau**2 + self.low * tau
        s = -math.expm1(-b)
        return math.exp(-0.5 * b), math.sqrt(s) if self.kind == "VP" else s


def _process(estimator: Any) -> _Process:
    from sbi.neural_nets.estimators.flowmatching_estimator import FlowMatchingEstimator
    from sbi.neural_nets.estimators.score_estimator import (
        SubVPScoreEstimator,
        VEScoreEstimator,
        VPScoreEstimator,
    )

    kinds: dict[str, type] = {
        "VP": VPScoreEstimator,
        "sub-VP": SubVPScoreEstimator,
        "VE": VEScoreEstimator,
        "flow": FlowMatchingEstimator,
    }
    kind = next((name for name, cls in kinds.items() if isinstance(estimator, cls)), None)
    if kind is None:
        raise TypeError(
            f"from_sbi: {type(estimator).__name__} has no score tallsbi can use; give what NPSE.train() or "
            f"FMPE.train() returns "
            f"({', '.join(cls.__name__ for cls in kinds.values())})."
        )
    if len(estimator.input_shape) != 1:
        raise ValueError(
            f"from_sbi: parameters of shape {tuple(estimator.input_shape)}; they must be vectors."
        )
    if kind == "flow":
        return _Process(kind, float(estimator.noise_scale), 0.0, 0.0, _END_OF_FLOW)
    low, high = (
        (estimator.sigma_min, estimator.sigma_max)
        if kind == "VE"
        else (estimator.beta_min, estimator.beta_max)
    )
    return _Process(kind, float(low), float(high), float(estimator.t_min), float(estimator.t_max))


def _warn_of_another_prior(score: SbiScore, prior: Prior) -> None:
    """Compares the prior with the moments of the training parameters, by which sbi standardises by default."""
    mean, sd = prior.latent_mean()[0], prior.covariance()[0].diagonal().sqrt()
    centre, spread = score.shift.double(), (score.scale * score.spread).double()
    standardised = bool((centre != 0).any()) or bool((spread != 1).any())
    if standardised and bool(
        (((centre - mean) / sd).abs() > 0.5).any() | ((spread / sd).log().abs() > 0.5).any()
    ):
        warnings.warn(
            f"the network was trained on parameters with mean {centre.tolist()} and standard deviation "
            f"{spread.tolist()}, the prior given has {mean.tolist()} and {sd.tolist()}. The prior is divided out n - 1 "
            "times: give the one the network was trained with.",
            AnotherPrior,
            stacklevel=4,
        )


def unpacked(estimator: Any) -> tuple[Any, Any]:
    """The network, and the prior if it is there: a posterior of sbi has both, a network no prior."""
    network = getattr(estimator, "vector_field_estimator", None)
    return (estimator, None) if network is None else (network, estimator.prior)


@dataclass(frozen=True, eq=False)
class SbiEngine(Engine):
    """An sbi network with its prior; `latent` is the prior of (theta - shift) / scale."""

    score: SbiScore
    prior: Prior
    latent: Prior
    dtype: torch.dtype = torch.float32

    @classmethod
    def of(cls, estimator: Any, prior: Prior) -> SbiEngine:
        score = SbiScore(estimator)
        if prior.transformed:
            raise ValueError(
                f"from_sbi: the network diffuses theta itself, where a {type(prior).__name__} prior has no diffused "
                "score in closed form; train sbi's network on a transform of theta with a Gaussian or uniform "
                "prior, such as log theta, or use TallPosterior.fit."
            )
        if prior.dim != score.dim:
            raise ValueError(
                f"from_sbi: the prior has {prior.dim} coordinates, the network {score.dim}; give the prior it was "
                "trained with."
            )
        signal = score.schedule.sqrt_alpha(1.0) * float(score.spread.max())
        if signal > _LARGEST_SIGNAL:
            warnings.warn(
                f"the diffusion of this sbi network does not cover its parameters: at its end {signal:.2g} noise "
                "standard deviations of them are left, and samplers start from pure noise. Train it on "
                "standardised parameters, or with posterior_score_nn(..., compose_standardization=True).",
                stacklevel=3,
            )
        _warn_of_another_prior(score, prior)
        latent = prior.to(dtype=torch.float64).normalised(score.shift.double(), score.scale.double())
        return cls(score, prior, latent)

    @property
    def x_dim(self) -> int:
        return self.score.x_dim

    def problem(self, x: Observations) -> Problem:
        return Problem(self.score, self.latent.to(dtype=self.dtype), x.to(self.dtype))

    def to_parameter(self, theta: States) -> States:
        return theta * self.score.scale.double() + self.score.shift.double()
