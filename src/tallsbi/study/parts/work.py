"""How large a job is, in units that its rule chooses: with the rates of the cost model this gives its time limit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tallsbi.algorithms import CLIP_SUFFIX, base_name
from tallsbi.study.parts.jrnmm import JrnmmPart
from tallsbi.study.parts.sbibm import SbibmPart
from tallsbi.study.parts.toy import ToyPart
from tallsbi.study.settings.horizon import HorizonSettings
from tallsbi.study.settings.refine import RefineSettings
from tallsbi.study.settings.sample import Methods
from tallsbi.study.settings.sized_sample import SizedSampleSettings
from tallsbi.study.settings.time import TimeSettings
from tallsbi.study.settings.toy import ToySampleSettings, ToyTimeSettings
from tallsbi.study.settings.train import TrainGroupsSettings, TrainSettings

STEP_ROWS = 150
"""What a time step costs beside its rows: the time in which so many rows go through a network."""
TOY_STEP_ROWS = 2000
"""The same for an exact score."""
CLIPPED_SHARE = {"GAUSS": 0.3, "LANGEVIN": 0.6}
"""What a clipped variant adds in one pass, as a share of its plain run: the mean over SLCP, LV and SIR; 1 where
unknown."""
JACOBIANS = ("JAC", "JAC_PD")
"""Algorithms that need the Jacobian of every single score."""
BATCH_ROWS = 60
"""What a training batch costs beside its rows: the time in which so many rows go through a network."""
ENCODED_PLACES = 60
"""So many places of a group are encoded in the time in which one row goes through the network."""


def network_rows(
    options: Mapping[str, Any], samples: int, n: int, datasets: int = 1, step: int = STEP_ROWS
) -> float:
    """Thousands of rows that go through the network for the samples of n observations, covariances included."""
    steps, cov_steps = options["steps"] * options.get("inner_steps", 1), options.get("cov_steps", 0)
    sample_rows = steps * (datasets * samples * n + step)
    covariance_rows = cov_steps * (datasets * options.get("cov_samples", 0) * n + step)
    return (sample_rows + covariance_rows) / 1000


def train(settings: TrainSettings) -> float:
    """Thousands of rows that go through the network."""
    training = settings.training
    return training.epochs * settings.n_train * (1 + BATCH_ROWS / training.batch_size) / 1000


def train_groups(settings: TrainGroupsSettings) -> float:
    places = settings.n_max if settings.encoder == "deep_set" else 0
    return train(settings) * (1 + places / ENCODED_PLACES)


def sample(settings: SizedSampleSettings, datasets: int = 1) -> float:
    """Thousands of rows for so many datasets."""
    return sum(
        _rows_of(settings, name, n, datasets)
        for name in dict.fromkeys(map(base_name, settings.names))
        for n in settings.n_obs
    )


def _rows_of(settings: SizedSampleSettings, name: str, n: int, datasets: int) -> float:
    """The rows of one method; its clipped variant shares the covariances of the plain one."""
    options = settings.methods.options[name]
    samples = settings.samples_at(n)
    rows = network_rows(options, samples, n, datasets)
    if not {name, name + CLIP_SUFFIX} <= set(settings.names):
        return rows
    share = CLIPPED_SHARE.get(options.get("algorithm", name), 1.0)
    return rows + share * network_rows({**options, "cov_steps": 0}, samples, n, datasets)


def sample_of(part: SbibmPart | JrnmmPart, settings: SizedSampleSettings) -> float:
    """Thousands of rows for one batch."""
    if settings.kind == "sets":
        return sample(settings, settings.sets or 1) / part.batches
    if settings.kind == "calibration":
        return sample(settings, part.calibration["calibration"]) / part.pair_batches
    return sample(settings, part.section["observations"] if settings.kind == "single" else 1)


def sample_groups(part: SbibmPart, settings: SizedSampleSettings, n_max: int) -> float:
    groups = -(-part.group_n // n_max)
    samples = settings.samples_at(part.group_n)
    return sample(replace(settings, n_obs=(groups,), samples=samples, samples_by_n={}), settings.sets or 1)


def _with_steps(methods: Methods, steps: int) -> dict[str, dict[str, Any]]:
    return {name: {**options, "steps": steps} for name, options in methods.options.items()}


def _timed(options: Mapping[str, Any], samples: int) -> dict[str, Any]:
    """The settings where times are compared: as many draws for a covariance as samples."""
    return {**options, **({"cov_samples": samples} if "cov_samples" in options else {})}


def _network_time(options: Mapping[str, Any], samples: int, n: int) -> float:
    """The timed run, and a second one for the distance where that has other draws for its covariances."""
    timed = _timed(options, samples)
    runs = [timed] if timed == options else [timed, options]
    return sum(network_rows(run, samples, n) for run in runs)


def time_steps(settings: TimeSettings) -> float:
    return settings.sets * sum(
        _network_time(options, settings.samples, n)
        for steps in settings.grid or ()
        for options in _with_steps(settings.methods, steps).values()
        for n in settings.n_obs
    )


def time_many(settings: TimeSettings) -> float:
    return settings.sets * sum(
        _network_time(
            {**options, "steps": min(options["steps"], settings.max_steps or 0)}, settings.samples, n
        )
        for options in settings.methods.options.values()
        for n in settings.n_obs
    )


def measure_calibration(settings: HorizonSettings) -> float:
    (options,) = settings.methods.options.values()
    return sum(network_rows(options, settings.samples, n, settings.datasets) for n in settings.n_obs)


def measure_refined(settings: RefineSettings) -> float:
    """Thousands of simulations, from which a refinement learns and for which it draws with the network."""
    return settings.sets * len(settings.n_obs) * settings.simulations / 1000


def _toy_rows(m: int, name: str, options: Mapping[str, Any], samples: int, n_obs: tuple[int, ...]) -> float:
    """Evaluations of the score, which costs about m each; with its Jacobian and an inverse of it more, by a factor
    that is 1 at m = 10 and 6 at m = 32."""
    with_jacobians = options.get("algorithm", name) in JACOBIANS
    each = m * (m * (1 + m / 16) / 16 if with_jacobians else 1)
    return each * sum(network_rows(options, samples, n, step=TOY_STEP_ROWS) for n in n_obs)


def sample_toy(settings: ToySampleSettings) -> float:
    cell = settings.cell
    ((name, options),) = _with_steps(settings.methods, settings.steps).items()
    return cell.seeds * _toy_rows(cell.m, name, options, settings.samples, settings.n_obs)


def time_toy(settings: ToyTimeSettings) -> float:
    m, samples = settings.cell.m, settings.samples
    return settings.repeats * sum(
        _toy_rows(m, name, _timed(options, samples), samples, settings.n_obs)
        for steps in settings.steps
        for name, options in _with_steps(settings.methods, steps).items()
    )


def reference_toy(part: ToyPart) -> float:
    """Thousands of steps of the chains behind the references of the mixture, times observations."""
    mala, section = part.section["mala"], part.section
    chain = mala["chains"] * (mala["warmup"] + mala["draws"]) / 1000
    return section["seeds"] * sum(section["n_obs"]) * chain


def measure_toy(part: ToyPart, by_steps: bool) -> float:
    """Hundreds of samples that are compared with a reference."""
    cells = part.section["steps"] if by_steps else part.section["n_obs"]
    return len(cells) * len(part.methods) * part.section["seeds"] * part.section["samples"] / 100


def reference(part: SbibmPart) -> float:
    """Hundreds of draws of the chains behind the references of a task."""
    return _chain_draws(part, part.section["sets"], part.n_obs)


def reference_published(part: SbibmPart) -> float:
    """The same of the references that are published."""
    section = part.section["posteriors"]
    return _chain_draws(part, section["sets"], section["n_obs"])


def _chain_draws(part: SbibmPart, sets: int, n_obs: Sequence[int]) -> float:
    chains = part.section["reference"]
    return sets * len(n_obs) * (chains["warmup"] + chains["draws"]) / 100


def measure(part: SbibmPart, problem: str, n_train: int, variant: str) -> float:
    """Hundreds of samples that are compared with a reference."""
    settings = part.measure(problem, n_train, variant)
    by_n = part.section["samples_by_n"]
    samples = sum(by_n.get(str(n), part.section["samples"]) for n in settings.n_obs)
    return len(settings.runs) * part.sets_of(problem) * samples / 100


def test_calibration(part: JrnmmPart) -> float:
    """Trained classifiers, each with a fixed cost of 1 and as much again for every hundred calibration pairs."""
    section = part.calibration
    return (section["classifiers"] + section["permutations"]) * (1 + section["calibration"] / 100)
