"""Dispersed starts and a metric for NUTS, by annealing a cloud of particles from the prior to the posterior.

A sequential Monte Carlo sampler: the cloud follows N(z; 0, I) r(z)^s while s grows from 0 to 1, where r is the ratio of
the posterior's density to that of N(0, I). Each growth of s halves the effective number of particles; they are then
resampled and moved by random-walk Metropolis steps with the covariance of the cloud. Where the posterior has several
modes, all that the prior reaches stay in the cloud with their weight; chains started at one point would miss them.

The starts are particles at s = 1/4, a cloud twice as wide as the posterior, so that R-hat compares chains that begin
apart. The metric is the covariance at s = 1. Nothing here has to be exact: NUTS and its certificate come after.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float

from tallsbi.study.references.standardised import LogDensity
from tallsbi.study.tasks.base import float64_numpy

PARTICLES = 256
START_POWER = 0.25
_TARGET_ACCEPTANCE = 0.25
_MAX_LEVELS = 400
_LOG_ZERO = -1e12  # the log of a ratio of zero: finite, so that zero times it is zero


def dispersed_starts(
    log_ratio: LogDensity, x: Any, key: Any, dim: int, chains: int
) -> tuple[Float[Any, "chains m"], Float[Any, "m m"]]:
    """Starts for the chains of one dataset, and the posterior covariance, both in z. To be called inside `jax.jit`.

    x is whatever `log_ratio` takes as its second argument.
    """
    import jax

    jnp = float64_numpy()
    key, first, pick = jax.random.split(key, 3)
    z = jax.random.normal(first, (PARTICLES, dim))
    cloud = _Cloud(z, _values(log_ratio, z, x), jnp.zeros(()), jnp.array(2.38 / dim**0.5))

    def level(carry: Any) -> Any:
        cloud, wide, key, count = carry
        key, level_key = jax.random.split(key)
        cloud = _grow(log_ratio, x, cloud, jnp.where(cloud.power < START_POWER, START_POWER, 1.0), level_key)
        return cloud, jnp.where(cloud.power <= START_POWER, cloud.z, wide), key, count + 1

    def unfinished(carry: Any) -> Any:
        return (carry[0].power < 1.0) & (carry[3] < _MAX_LEVELS)

    narrow, wide, _, _ = jax.lax.while_loop(unfinished, level, (cloud, z, key, 0))
    # All starts differ as long as there are enough particles.
    chosen = jax.random.permutation(pick, PARTICLES)[jnp.arange(chains) % PARTICLES]
    return wide[chosen], _covariance(narrow.z)


class _Cloud(NamedTuple):
    """Particles, their log ratios, the power of the ratio they follow, the step of their moves."""

    z: Any
    value: Any
    power: Any
    step: Any


def _grow(log_ratio: LogDensity, x: Any, cloud: _Cloud, target: Any, key: Any) -> _Cloud:
    """The cloud at a higher power, at most `target`: weighted, resampled, moved."""
    import jax

    jnp = float64_numpy()
    pick, walk = jax.random.split(key)
    growth = _growth(cloud.value, target - cloud.power)
    weight = jax.nn.softmax(growth * cloud.value)
    # Systematic resampling: one uniform number for all particles.
    position = (jax.random.uniform(pick) + jnp.arange(PARTICLES)) / PARTICLES
    chosen = jnp.clip(jnp.searchsorted(jnp.cumsum(weight), position), 0, PARTICLES - 1)
    power = jnp.where(growth >= target - cloud.power, target, cloud.power + growth)
    return _move(log_ratio, x, _Cloud(cloud.z[chosen], cloud.value[chosen], power, cloud.step), walk)


def _growth(value: Any, most: Any) -> Any:
    """The growth of the power, at most `most`, that halves the effective number of particles."""
    import jax

    jnp = float64_numpy()

    def effective(growth: Any) -> Any:
        weight = jax.nn.softmax(growth * value)
        return 1 / jnp.sum(weight**2)

    def halve(_: Any, bracket: Any) -> Any:
        low, high = bracket
        # A geometric middle: the first powers are small by many orders of magnitude.
        middle = jnp.sqrt(low * high)
        enough = effective(middle) >= 0.5 * PARTICLES
        return jnp.where(enough, middle, low), jnp.where(enough, high, middle)

    low, _ = jax.lax.fori_loop(0, 40, halve, (1e-14 * most, most))
    return jnp.where(effective(most) >= 0.5 * PARTICLES, most, low)


def _move(log_ratio: LogDensity, x: Any, cloud: _Cloud, key: Any) -> _Cloud:
    """Random-walk Metropolis steps of all particles, with one step size that is driven to the target acceptance."""
    import jax

    jnp = float64_numpy()
    factor = jnp.linalg.cholesky(_covariance(cloud.z))

    def walk(_: Any, carry: Any) -> Any:
        (z, value, power, step), key = carry
        key, normal, uniform = jax.random.split(key, 3)
        proposal = z + step * jax.random.normal(normal, z.shape) @ factor.T
        new = _values(log_ratio, proposal, x)
        log_accept = power * (new - value) + 0.5 * jnp.sum(z**2 - proposal**2, -1)
        accept = jnp.log(jax.random.uniform(uniform, value.shape)) < log_accept
        step = step * jnp.exp(jnp.mean(accept) - _TARGET_ACCEPTANCE)
        moved = jnp.where(accept[:, None], proposal, z), jnp.where(accept, new, value)
        return _Cloud(*moved, power, step), key

    return jax.lax.fori_loop(0, 4 + 2 * cloud.z.shape[1], walk, (cloud, key))[0]


def _values(log_ratio: LogDensity, z: Any, x: Any) -> Any:
    import jax

    jnp = float64_numpy()
    return jnp.maximum(jax.vmap(log_ratio, (0, None))(z, x), _LOG_ZERO)


def _covariance(z: Any) -> Any:
    """The cloud's covariance, with a little of its diagonal added, so that a collapsed cloud has a Cholesky factor."""
    jnp = float64_numpy()
    cov = jnp.cov(z, rowvar=False).reshape(z.shape[1], z.shape[1])
    return cov + jnp.diag(1e-6 * jnp.diag(cov) + 1e-20)
