"""NUTS on the posteriors of several datasets at once, certified, and thinned to near independence.

numpyro's kernel works in the coordinates z of `standardised`, on all chains of all datasets together. One compiled
function takes the observations, the random keys and the target acceptance as arguments, so every group of datasets and
every n uses the same compilation. Starts and the dense metric come from `annealing`; warm-up adapts only the step size,
of each chain by itself.

Chains advance together, so an iteration takes as long as the longest trajectory among them. The metric makes all
posteriors round, and trajectories short.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from tallsbi.study.references import slcp, standardised
from tallsbi.study.references.annealing import dispersed_starts
from tallsbi.study.references.certificate import (
    Certificate,
    Check,
    chain_checks,
    effective_sizes,
    energy_information,
    lagged_correlation,
)
from tallsbi.study.references.request import Draws, Request
from tallsbi.study.references.standardised import Coordinates, first_observations
from tallsbi.study.tasks.base import Task, use_float64

GROUP_SIZE = 25
# In warm-up and after: a step size that is still too small would make trajectories cost more than all the draws.
_MAX_TREE_DEPTH = (4, 8)
# What posteriordb asks of a reference posterior, beside R-hat and ESS.
_MAX_DIVERGENCES = 0
_MIN_EFMI = 0.2
_MAX_AUTOCORRELATION = 0.05
# ESS of the chains for each draw that is kept. At two, kept draws are nearly independent: an autoregression that is
# thinned so much has a correlation of a few per cent.
_ESS_PER_SAMPLE = 2.0
log = logging.getLogger(__name__)


def certified_draws(request: Request) -> list[Draws]:
    """Draws of every dataset; where a certificate fails, chains are run anew with twice as many draws, and so on."""
    output: dict[int, Draws] = {}
    pending = list(range(len(request.x)))
    for attempt in range(request.settings.retries + 1):
        for group in request.with_progress(_groups(pending)):
            output |= zip(group, _attempt(request, group, attempt), strict=True)
        pending = [b for b in pending if not output[b][1].passed]
        if not pending:
            break
        log.warning(
            "%s, n = %d: sets %s not certified in attempt %d",
            *(request.task.name, request.n, [request.first_set + b for b in pending], attempt + 1),
        )
    return [output[b] for b in range(len(request.x))]


def _groups(sets: list[int]) -> list[list[int]]:
    """Sets that are sampled together, equally many in each group: the last one may repeat some of the one before."""
    count = -(-len(sets) // GROUP_SIZE)
    size = -(-len(sets) // count)
    return [sets[max(0, end - size) : end] for end in (min((i + 1) * size, len(sets)) for i in range(count))]


def _attempt(request: Request, group: list[int], attempt: int) -> list[Draws]:
    settings = request.settings
    draws, warmup = settings.draws * 2**attempt, settings.warmup
    sampler = make_sampler(request.task, chains=settings.chains, warmup=warmup, draws=draws)
    # An attempt may have failed because its steps were too long for the posterior.
    target_accept = 1 - (1 - settings.target_accept) / 4**attempt
    seeds = [request.integer(b, "attempt", attempt) for b in group]
    chains = sampler(request.x[group], request.n, seeds, target_accept)
    output = []
    for i, b in enumerate(group):
        rng = request.rng(b, "thinning")
        theta, diverging = chains.theta[i], chains.diverging[i]
        kept = thin(theta, request.samples)
        certificate = Certificate(
            "NUTS",
            (
                *chain_checks(
                    theta,
                    max_rhat=settings.max_rhat,
                    min_bulk=max(settings.min_ess, _ESS_PER_SAMPLE * request.samples),
                    min_tail=settings.min_ess,
                ),
                Check("divergences", (int(diverging.sum()),), at_most=_MAX_DIVERGENCES),
                Check("efmi", (energy_information(chains.energy[i]),), at_least=_MIN_EFMI),
                Check(
                    "autocorrelation",
                    lagged_correlation(theta, theta.shape[1] // kept.shape[1]),
                    at_most=_MAX_AUTOCORRELATION,
                ),
            ),
            {
                "ess_kept": float(np.min(effective_sizes(kept, "bulk"))),
                "divergent_share": float(diverging.mean()),
                "acceptance": float(chains.acceptance[i]),
                "chains": settings.chains,
                "iterations": warmup + draws,
                "attempts": attempt + 1,
            },
        )
        kept = rng.permutation(kept.reshape(-1, theta.shape[-1]))[: request.samples]
        for index in _sign_symmetric_coordinates(request.task):
            kept[:, index] *= rng.choice([-1.0, 1.0], len(kept))
        output.append((kept, certificate))
    return output


@dataclass(frozen=True)
class Chains:
    """Draws after warm-up in the parameter's own space, which of them diverged, their energies, the mean acceptance."""

    theta: Float[np.ndarray, "B C draws m"]
    diverging: Bool[np.ndarray, "B C draws"]
    energy: Float[np.ndarray, "B C draws"]
    acceptance: Float[np.ndarray, "B"]


Sampler = Callable[[np.ndarray, int, list[int], float], Chains]
"""(x [B, N, d], the number n <= N of observations to use, an integer seed per dataset, target acceptance) -> chains."""


@lru_cache(maxsize=8)
def make_sampler(task: Task, *, chains: int, warmup: int, draws: int) -> Sampler:
    """The sampler of a task; it compiles at its first call for each shape of x, whatever n."""
    use_float64()
    import jax
    import jax.numpy as jnp

    space = _coordinates(task)

    def start_one(job: tuple[Any, Any]) -> tuple[Any, Any]:
        return dispersed_starts(space.log_ratio, *job, task.dim_theta, chains)

    # One dataset after the other, each with its own number of levels: a cloud is wide enough for the processor.
    start = jax.jit(lambda data, keys: jax.lax.map(start_one, (data, keys)))
    run = jax.jit(jax.vmap(_runner(space, warmup, draws), (0, 0, 0, 0, None)))

    def sample(x: Float[np.ndarray, "B N d"], n: int, seeds: list[int], target_accept: float) -> Chains:
        keys = jnp.stack([jax.random.key(seed) for seed in seeds])
        keys = jax.vmap(lambda key: jax.random.split(key, 1 + chains))(keys)
        data = first_observations(x, n)
        starts, metric = start(data, keys[:, 0])
        lane = np.repeat(np.arange(len(x)), chains)
        data = tuple(part[lane] for part in data)
        output = run(
            data, starts.reshape(-1, task.dim_theta), metric[lane], keys[:, 1:].ravel(), target_accept
        )
        theta, diverging, energy, acceptance = (
            np.asarray(part).reshape(len(x), chains, *part.shape[1:]) for part in output
        )
        return Chains(theta, diverging, energy, acceptance.mean((1, 2)))

    return sample


def _coordinates(task: Task) -> Coordinates:
    return slcp.coordinates(task) if task.name == "slcp" else standardised.coordinates(task)


def _sign_symmetric_coordinates(task: Task) -> tuple[int, ...]:
    """Coordinates whose sign the chains leave open."""
    return slcp.SIGN_SYMMETRIC_COORDINATES if task.name == "slcp" else ()


def _runner(space: Coordinates, warmup: int, draws: int) -> Callable[..., Any]:
    """One chain: (data, start [m], metric [m, m], key, target acceptance) -> theta, diverging, energy, acceptance."""
    import jax
    from numpyro.infer.hmc import hmc

    def one_chain(data: Any, start: Any, metric: Any, key: Any, target_accept: Any) -> Any:
        # A kernel per trace: numpyro's keeps what `init_kernel` was given in a closure. The inner jit has the
        # density traced once and not at each of its uses.
        init_kernel, sample_kernel = hmc(jax.jit(lambda z: -space.log_density(z, data)), algo="NUTS")
        state = init_kernel(
            start,
            warmup,
            step_size=0.5,
            inverse_mass_matrix=metric,
            adapt_mass_matrix=False,
            dense_mass=True,
            target_accept_prob=target_accept,
            max_tree_depth=_MAX_TREE_DEPTH,
            rng_key=key,
        )

        def draw(state: Any, _: None) -> Any:
            state = sample_kernel(state)
            theta = space.to_parameter(state.z, data)
            return state, (theta, state.diverging, state.energy, state.accept_prob)

        # Warm-up and draws in one loop, or the kernel would be compiled twice.
        output = jax.lax.scan(draw, state, None, length=warmup + draws)[1]
        return tuple(part[warmup:] for part in output)

    return one_chain


def thin(theta: Float[np.ndarray, "C draws m"], count: int) -> Float[np.ndarray, "C kept m"]:
    """At least `count` draws, equally many from every chain and evenly spaced in each."""
    chains, draws = theta.shape[:2]
    per_chain = -(-count // chains)
    if per_chain > draws:
        raise ValueError(
            f"{count} reference draws are wanted, the chains hold {chains * draws}: raise `chains` or `draws`."
        )
    index = ((np.arange(per_chain) + 1) * draws) // per_chain - 1
    return theta[:, index]
