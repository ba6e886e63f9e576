"""The equations of the Jansen-Rit model and the closed form of their linear part (section 4.3).

Three neural populations, each a critically damped oscillator of position X_i and velocity X_{i+3}, driven by
the others through the sigmoid S(v) = vmax / (1 + exp(r (v0 - v))) and by white noise:

    dX_3 = (A a S(X_1 - X_2)            - 2 a X_3 - a^2 X_0) dt + noise_pyramidal  dW_3
    dX_4 = (A a (mu + 0.8 C S(C X_0))   - 2 a X_4 - a^2 X_1) dt + sigma            dW_4
    dX_5 = (B b 0.25 C S(0.25 C X_0)    - 2 b X_5 - b^2 X_2) dt + noise_inhibitory dW_5

with dX_i = X_{i+3} dt. What is recorded is 10^(g/10) (X_1 - X_2). The parameters are the connectivity C, the
mean mu and the strength sigma of the input from elsewhere, and the gain g of the recording in decibel.

Without its drive an oscillator of rate k is linear, and its state after a time h is known exactly: a matrix
times the state before, plus a Gaussian. The drive only changes velocities, and the sigmoids in it depend on
positions only. The splitting in `tallsbi.study.tasks.jrnmm.kernel` rests on these two facts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float

PARAMETERS = ("C", "mu", "sigma", "g")
ALPHA_RHYTHM = (135.0, 220.0, 2000.0, 0.0)
"""The parameters of the study's observations, which show the alpha rhythm."""


@dataclass(frozen=True)
class Model:
    """What is not inferred: gains A, B (mV), rates a, b (1/s), the sigmoid, connections, noise of the populations.

    vmax = 0 switches all interaction off and leaves three independent linear oscillators.
    """

    A: float = 3.25
    B: float = 22.0
    a: float = 100.0
    b: float = 50.0
    vmax: float = 5.0
    v0: float = 6.0
    r: float = 0.56
    to_excitatory: float = 1.0
    from_excitatory: float = 0.8
    to_inhibitory: float = 0.25
    from_inhibitory: float = 0.25
    noise_pyramidal: float = 0.01
    noise_inhibitory: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < np.inf:
                raise ValueError(f"Model({field.name}={value}): must be finite and not negative.")
        for name in ("a", "b"):
            if getattr(self, name) == 0:
                raise ValueError(f"Model({name}=0): the rate of an oscillator must be positive.")

    @property
    def rates(self) -> tuple[float, float, float]:
        """k of each oscillator."""
        return self.a, self.a, self.b


def propagator(k: float, h: float) -> Float[np.ndarray, "2 2"]:
    """The matrix that takes (position, velocity) of an oscillator of rate k over a time h, without drive and noise."""
    return np.exp(-k * h) * np.array([[1 + k * h, h], [-k * k * h, 1 - k * h]])


def noise_covariance(k: float, h: float) -> Float[np.ndarray, "2 2"]:
    """Covariance of (position, velocity) after a time h, from rest, with noise of strength one."""
    from scipy.special import gammainc

    y = 2 * k * h
    # 1 - e^-y (1 + y + y^2 / 2) is an incomplete gamma function: no cancellation for short steps.
    gamma = gammainc(3, y)
    decay = np.exp(-y)
    covariance = 0.5 * h * h * decay
    return np.array([[gamma / (4 * k**3), covariance], [covariance, (gamma + 2 * y * decay) / (4 * k)]])


def noise_factor(k: float, h: float) -> Float[np.ndarray, "2 2"]:
    """Lower triangular square root of `noise_covariance`."""
    return np.linalg.cholesky(noise_covariance(k, h))
