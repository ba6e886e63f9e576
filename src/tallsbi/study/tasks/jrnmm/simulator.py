"""Simulations of the Jansen-Rit model for rows theta = (C, mu, sigma) or (C, mu, sigma, g) (section 4.3).

A simulation starts at X ~ N(0, I_6), runs for two seconds, and is then recorded for eight at 128 Hz:
sample i is at time 2 + i / 128. The recording is amplified by 10^(g/10), and its mean is subtracted.

Simulation number i of a seed has a random stream of its own. Its signal depends on (seed, i) and on its
row of theta, on nothing else: batches can be cut anywhere and spread over threads or jobs, and `first` is the
number of the first simulation of a batch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from tallsbi.study.tasks.jrnmm.model import Model, noise_factor, propagator


@dataclass(frozen=True)
class Simulation:
    """How to simulate: step (s), seconds before and of the recording, steps per sample, and the equations."""

    step: float = 1 / 1024
    burn_in: float = 2.0
    duration: float = 8.0
    keep_every: int = 8
    model: Model = field(default_factory=Model)

    def __post_init__(self) -> None:
        if not 0 < self.step < np.inf:
            raise ValueError(f"Simulation(step={self.step}): must be a positive number of seconds.")
        if self.keep_every < 1:
            raise ValueError(f"Simulation(keep_every={self.keep_every}): must be at least one step.")
        _whole_count("burn_in", self.burn_in, self.step, 0)
        _whole_count("duration", self.duration, self.step * self.keep_every, 1)

    @property
    def burn_steps(self) -> int:
        return _whole_count("burn_in", self.burn_in, self.step, 0)

    @property
    def samples(self) -> int:
        return _whole_count("duration", self.duration, self.step * self.keep_every, 1)

    @property
    def steps(self) -> int:
        """Until the last sample."""
        return self.burn_steps + (self.samples - 1) * self.keep_every

    @property
    def sample_rate(self) -> float:
        """In Hz."""
        return 1 / (self.step * self.keep_every)


def _whole_count(name: str, seconds: float, unit: float, least: int) -> int:
    count = seconds / unit
    if not (least <= count < 2**31 and abs(count - round(count)) < 1e-6 * max(count, 1)):
        raise ValueError(
            f"Simulation({name}={seconds}): must be a whole number, at least {least}, of {unit} s "
            "(one step; for the duration, the time between two samples)."
        )
    return round(count)


PUBLISHED = Simulation()
"""Ten seconds in steps of 1/1024 s, 1024 samples at 128 Hz."""


def simulate(
    theta: Float[np.ndarray, "N p"],
    seed: int,
    first: int = 0,
    threads: int = 1,
    *,
    settings: Simulation = PUBLISHED,
) -> Float[np.ndarray, "N samples"]:
    """The recorded signals of the simulations first, first + 1, ... of a seed, one per row of theta."""
    signals = np.empty((len(theta), settings.samples))
    _in_blocks(theta, seed, first, threads, settings, lambda rows: signals[rows], lambda rows, block: None)
    return signals


def simulate_summaries(
    theta: Float[np.ndarray, "N p"],
    seed: int,
    first: int = 0,
    threads: int = 1,
    *,
    settings: Simulation = PUBLISHED,
) -> Float[np.ndarray, "N 33"]:
    """The log spectra of these signals (`tallsbi.study.tasks.jrnmm.summary`), few of which are in memory at a time."""
    from tallsbi.study.tasks.jrnmm.summary import BINS, WINDOW, write_log_spectra

    if settings.samples < WINDOW:
        raise ValueError(
            f"Simulation(duration={settings.duration}): the {settings.samples} samples are fewer than the "
            f"{WINDOW} of a window of the spectrum; record for longer."
        )
    summaries = np.empty((len(theta), BINS))

    def allocate(rows: slice) -> np.ndarray:
        return np.empty((rows.stop - rows.start, settings.samples))

    def finish(rows: slice, block: np.ndarray) -> None:
        write_log_spectra(block, summaries[rows])

    _in_blocks(theta, seed, first, threads, settings, allocate, finish)
    return summaries


def normals(seed: int, first: int, simulations: int, count: int) -> Float[np.ndarray, "simulations count"]:
    """The standard normals that simulations use: six for the start, then six for each step."""
    from tallsbi.study.tasks.jrnmm.kernel import LANES, streams

    seed, first = _natural_number("seed", seed), _natural_number("first", first)
    out = np.empty((simulations, 4 * -(-count // 4)))
    for start in range(0, simulations, LANES):
        streams(seed, first + start, out[start : start + LANES])
    return out[:, :count]


def _in_blocks(
    theta: np.ndarray,
    seed: int,
    first: int,
    threads: int,
    settings: Simulation,
    allocate: Callable[[slice], np.ndarray],
    finish: Callable[[slice, np.ndarray], None],
) -> None:
    """Simulates as many rows of theta at a time as the kernel has lanes, into arrays of `allocate`; calls `finish`.

    The compiled code releases Python's lock, so plain threads run side by side, and no setting of the process
    has to be changed for it.
    """
    from tallsbi.study.tasks.jrnmm.kernel import LANES, run

    theta = _checked_theta(theta)
    seed, first = _natural_number("seed", seed), _natural_number("first", first)
    if threads < 1:
        raise ValueError(f"simulate(threads={threads}): at least one thread is needed.")
    model, h = settings.model, settings.step
    # sigma is the strength of the second noise, and a parameter.
    strengths = model.noise_pyramidal, 1.0, model.noise_inhibitory
    linear = [_linear_step(k, h, strength) for k, strength in zip(model.rates, strengths, strict=True)]
    constants = *linear, model.r, model.r * model.v0, h * model.A * model.a * model.vmax

    def block(start: int) -> None:
        rows = slice(start, min(start + LANES, len(theta)))
        work, gain = _block_of(theta[rows], model, h)
        signals = allocate(rows)
        run(work, seed, first + start, *constants, settings.burn_steps, settings.keep_every, gain, signals)
        finish(rows, signals)

    starts = range(0, len(theta), LANES)
    if threads == 1 or len(starts) < 2:
        for start in starts:
            block(start)
        return
    with ThreadPoolExecutor(min(threads, len(starts))) as pool:
        for _ in pool.map(block, starts):
            pass


def _linear_step(k: float, h: float, strength: float) -> tuple[float, ...]:
    """The propagator of an oscillator row by row, then the lower triangle of its noise factor."""
    factor = strength * noise_factor(k, h)[np.tril_indices(2)]
    return tuple(float(entry) for entry in (*propagator(k, h).ravel(), *factor))


def _block_of(theta: np.ndarray, model: Model, h: float) -> tuple[np.ndarray, np.ndarray]:
    """The kernel's working array with its parameter rows, and the gains as factors."""
    from tallsbi.study.tasks.jrnmm.kernel import LANES, PARAMETER_ROWS, ROWS

    C, mu, sigma, g = theta.T
    excite, inhibit = h * model.A * model.a, h * model.B * model.b
    rows = [
        model.r * model.to_excitatory * C,
        model.r * model.to_inhibitory * C,
        excite * mu,
        excite * model.vmax * model.from_excitatory * C,
        inhibit * model.vmax * model.from_inhibitory * C,
        sigma,
    ]
    work = np.zeros((ROWS, LANES))
    work[PARAMETER_ROWS, : len(theta)] = rows
    return work.ravel(), 10 ** (g / 10)


def _checked_theta(theta: np.ndarray) -> np.ndarray:
    """theta with four columns, in float64."""
    theta = np.asarray(theta, dtype=np.float64)
    if theta.ndim != 2 or theta.shape[1] not in (3, 4):
        raise ValueError(
            f"theta has the shape {theta.shape}: it needs one row per simulation and the columns "
            "(C, mu, sigma) or (C, mu, sigma, g)."
        )
    if theta.shape[1] == 3:
        theta = np.concatenate([theta, np.zeros((len(theta), 1))], axis=1)
    invalid = ~np.isfinite(theta).all(axis=1) | (theta[:, 2] < 0)
    if invalid.any():
        row = int(invalid.argmax())
        raise ValueError(
            f"{int(invalid.sum())} of {len(theta)} rows of theta cannot be simulated, the first is row {row}: "
            f"(C, mu, sigma, g) = {theta[row].tolist()}. All must be finite and sigma not negative."
        )
    return theta


def _natural_number(name: str, value: int) -> int:
    value = operator.index(value)
    if not 0 <= value < 2**63:
        raise ValueError(f"{name}={value}: must be from 0 to 2^63 - 1.")
    return value
