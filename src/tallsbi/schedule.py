"""Variance-preserving noise schedules and the time grid (section 2.1 and equation (2) of the paper).

The forward diffusion is theta_t = sqrt(alpha(t)) theta_0 + sqrt(upsilon(t)) z with upsilon = 1 - alpha and
z standard normal. Both schedules of the paper have a quadratic log alpha,

    log alpha(t) = -(quadratic t^2 + linear t),

so everything follows from that one function, and `expm1` keeps upsilon exact where alpha is close to one.
Times are Python floats while sampling and tensors while training; both are accepted everywhere.
"""

import math
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

Time = TypeVar("Time", float, Tensor)


def _exp(value: Time) -> Time:
    return torch.exp(value) if isinstance(value, Tensor) else math.exp(value)


def _expm1(value: Time) -> Time:
    return torch.expm1(value) if isinstance(value, Tensor) else math.expm1(value)


def _sqrt(value: Time) -> Time:
    return torch.sqrt(value) if isinstance(value, Tensor) else math.sqrt(value)


@dataclass(frozen=True)
class Schedule:
    """A schedule with log alpha(t) = -(quadratic t^2 + linear t).

    `floor` is added to upsilon wherever upsilon is a divisor: a noise predictor that is trained with
    sigma(t)^2 = upsilon(t) + floor stays finite at t = 0.
    """

    quadratic: float
    linear: float = 0.0
    floor: float = math.exp(-16.0)

    def __post_init__(self) -> None:
        if self.quadratic < 0 or self.linear < 0 or self.quadratic + self.linear <= 0:
            raise ValueError(
                f"Schedule(quadratic={self.quadratic}, linear={self.linear}): alpha must decrease on [0, 1]; "
                "give non-negative coefficients, not both zero."
            )
        if not 0 <= self.floor < 1:
            raise ValueError(f"Schedule(floor={self.floor}): the floor is a small variance in [0, 1).")

    def log_alpha(self, t: Time) -> Time:
        return -(self.quadratic * t * t + self.linear * t)

    def alpha(self, t: Time) -> Time:
        """Squared signal coefficient."""
        return _exp(self.log_alpha(t))

    def sqrt_alpha(self, t: Time) -> Time:
        return _exp(0.5 * self.log_alpha(t))

    def upsilon(self, t: Time) -> Time:
        """Noise variance 1 - alpha(t), without cancellation near t = 0."""
        return -_expm1(self.log_alpha(t))

    def sigma2(self, t: Time) -> Time:
        """Noise variance with the floor: what the network is trained with, never zero."""
        return self.upsilon(t) + self.floor

    def sigma(self, t: Time) -> Time:
        return _sqrt(self.sigma2(t))

    def log_ratio(self, t: Time, s: Time) -> Time:
        """log(alpha(t) / alpha(s)); for s < t the log of the one-step factor gamma."""
        return self.log_alpha(t) - self.log_alpha(s)

    def one_step_noise(self, t: Time, s: Time) -> Time:
        """1 - alpha(t) / alpha(s): the variance that the step from s to t adds."""
        return -_expm1(self.log_ratio(t, s))


NETWORK = Schedule(quadratic=16.0)
"""exp(-16 t^2): what networks are trained with."""

TOY = Schedule(quadratic=9.975, linear=0.05)
"""exp(-9.975 t^2 - 0.05 t): both toy models."""


def time_grid(steps: int) -> list[float]:
    """The uniform grid 1, 1 - 1/T, ..., 1/T, 0, which samplers walk down unless they have a grid of their own."""
    if steps < 1:
        raise ValueError(f"time_grid(steps={steps}): at least one step is needed.")
    return [(steps - i) / steps for i in range(steps + 1)]
