"""One trajectory of a' = alpha - beta e^b, b' = -gamma + delta e^a and its derivatives in the rates, in JAX.

The method of Dormand and Prince of order 8, steps chosen by the error estimate of order 5 and 3, landing
exactly on the times asked for. The four derivatives are carried along as further state: that costs less
than going back through the steps, needs no memory, and leaves the steps and the values as they are without
them. Under `vmap` all trajectories advance together, each with its own time and step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from tallsbi.study.tasks.base import float64_numpy

TOLERANCE = 1e-10
MAX_STEPS = 2_000


def flow(
    rates: Float[Any, "4"], start: Float[np.ndarray, "2"], times: Float[np.ndarray, "T"]
) -> Float[Any, "T 2"]:
    """(a, b) at the given times, increasing from t = 0 on, differentiable once in the rates.

    NaN where the trajectory takes more than `MAX_STEPS` steps: a sampler then rejects the rates.
    """
    return _differentiable()(rates, start, times)


@cache
def _differentiable() -> Any:
    """The flow with the derivative in the rates that is integrated along with it."""
    import jax

    jnp = float64_numpy()
    # Compiled here, so that calls outside any compiled function are quick as well.
    integrate = jax.jit(_integrate, static_argnames="derivatives")

    @jax.custom_jvp
    def states(rates: Any, start: Any, times: Any) -> Any:
        return integrate(rates, start, times, derivatives=False)[..., 0]

    @states.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        full = integrate(*primals, derivatives=True)
        return full[..., 0], jnp.einsum("tik,k->ti", full[..., 1:], tangents[0])

    return states


def _integrate(rates: Any, start: Any, times: Any, derivatives: bool) -> Any:
    """States [T, 2, 1], or with their derivatives [T, 2, 1 + 4]."""
    from jax import lax
    from scipy.integrate import DOP853

    jnp = float64_numpy()
    alpha, beta, gamma, delta = rates
    directions = np.eye(4)

    def slope(y: Any) -> Any:
        """Of y = [2, 1 + 4], columns (value, derivatives in each rate)."""
        u, v = jnp.exp(y[0, 0]), jnp.exp(y[1, 0])
        value = jnp.stack([alpha - beta * v, delta * u - gamma])[:, None]
        if not derivatives:
            return value
        da = directions[0] - directions[1] * v - beta * v * y[1, 1:]
        db = directions[3] * u - directions[2] + delta * u * y[0, 1:]
        return jnp.concatenate([value, jnp.stack([da, db])], 1)

    def combine(weights: Any, slopes: Any) -> Any:
        return sum(float(w) * k for w, k in zip(weights, slopes, strict=False) if w != 0)

    def step(carry: Any) -> Any:
        t, h, y, first, index, out, count = carry
        end = times[index]
        last = t + h >= end
        s = jnp.where(last, end - t, h)
        slopes = [first]
        for row in DOP853.A[1 : DOP853.n_stages]:
            slopes.append(slope(y + s * combine(row, slopes)))
        new = y + s * combine(DOP853.B, slopes)
        values = [k[:, 0] for k in slopes]
        fifth, third = (
            jnp.sum((combine(weights, values) / TOLERANCE) ** 2) for weights in (DOP853.E5, DOP853.E3)
        )
        error = s * fifth / jnp.sqrt(2 * (fifth + 0.01 * third) + 1e-300)
        accept = error <= 1.0  # False for NaN
        factor = 0.9 * jnp.maximum(error, 1e-14) ** -0.125
        grown = s * jnp.minimum(factor, 6.0)
        shrunk = s * jnp.where(error < jnp.inf, jnp.clip(factor, 0.2, 0.9), 0.1)
        # A step cut short by an observation time says nothing against the longer one planned.
        h = jnp.where(accept, jnp.where(last, jnp.maximum(h, grown), grown), shrunk)
        arrived = accept & last
        out = jnp.where((arrived & (jnp.arange(times.shape[0]) == index))[:, None, None], new, out)
        y = jnp.where(accept, new, y)
        first = jnp.where(accept, slope(new), first)
        t = jnp.where(accept, jnp.where(last, end, t + s), t)
        return t, h, y, first, index + arrived, out, count + 1

    def unfinished(carry: Any) -> Any:
        t, h, _, _, index, _, count = carry
        return (index < times.shape[0]) & (count < MAX_STEPS) & (h > 1e-13 * (1 + t))

    y = jnp.concatenate([start[:, None], jnp.zeros((2, 4 if derivatives else 0))], 1)
    first = slope(y)
    h = 0.1 / (1.0 + jnp.sum(jnp.abs(first[:, 0])))
    out = jnp.full((times.shape[0], *y.shape), jnp.nan)
    carry = (jnp.zeros_like(h), h, y, first, jnp.zeros((), int), out, jnp.zeros((), int))
    return lax.while_loop(unfinished, step, carry)[5]
