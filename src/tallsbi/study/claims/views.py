"""The data a test may name: the tidy tables of a run, with the columns that the tests need.

A lost run has an infinite distance here: `lost` says so. Which tables a view is made of is in `SOURCES`; a view is
made when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from tallsbi.metrics.validity import is_lost
from tallsbi.study.analysis.validity import VALIDITY_COLUMNS
from tallsbi.study.claims.select import NoRows

Frames = Mapping[str, pd.DataFrame]

TIME_BASELINE = "LANGEVIN"  # times are relative to it
GUIDED = "GAUSS (CFG)"
LAST_EPOCHS = 0.98  # share of the epochs; a lowest loss after it is due to the end of training
BLOWN_UP_FACTOR = 10.0  # a run has blown up beyond this many times the best distance on the same posterior


@dataclass(frozen=True)
class RunFacts:
    """What the views must know of the run beside its tables."""

    toy_metric: str
    kept: Mapping[str, Sequence[int]]
    """Per task, the parameter sets that the published rule does not exclude."""
    uniform_bounds: str
    """`widened` or `true`: the bounds of uniform priors in this run."""
    uniform_tasks: Sequence[str]
    theta: Mapping[str, float]
    """The true parameter of the Jansen-Rit model."""
    bounds: Mapping[str, Sequence[float]]
    """The ends of its prior."""


View = Callable[[Frames, RunFacts], pd.DataFrame]


def _toy(name: str, frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """`error`: the distance by the metric of the run; `error_norm`: less the self-distance of the reference;
    `error_relative`: over it."""
    frame, metric = frames[name], facts.toy_metric
    frame = frame.assign(
        error=frame[metric],
        error_norm=frame[f"{metric}_norm"],
        error_relative=frame[metric] / frame[f"{metric}_self"],
    )
    return _lost_as_infinite(frame, ["error", "error_norm", "error_relative"])


def _timing(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """`speedup`: the seconds of LANGEVIN in the same round and cell over those of the method."""
    frame = frames["toy_timing"]
    cell = ["problem", "m", "n", "steps", "round"]
    base = frame[frame.method == TIME_BASELINE].set_index(cell).seconds
    return frame.assign(speedup=base.reindex(frame.set_index(cell).index).to_numpy() / frame.seconds)


def _pedagogical(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """A row per draw and coordinate: `deviation` from the median of its own cloud, `offset` from the analytic
    mean in analytic standard deviations."""
    long = frames["pedagogical"].melt(["n", "source", "sample"], ["theta_1", "theta_2"], "parameter")
    clouds = long.groupby(["n", "source", "parameter"]).value
    exact = long[long.source == "analytic"].groupby(["n", "parameter"]).value.agg(["mean", "std"])
    exact = exact.reindex(pd.MultiIndex.from_frame(long[["n", "parameter"]]))
    return long.assign(
        deviation=_positive_size(long.value - clouds.transform("median")),
        offset=(long.value.to_numpy() - exact["mean"].to_numpy()) / exact["std"].to_numpy(),
    )


def _sbibm(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """`kept`: the published rule does not exclude the set; `blown`: lost, or far from what others reach."""
    frame = _lost_as_infinite(_with_kept(frames["sbibm_distances"], facts), ["sw", "mmd", "c2st"])
    best = frame.groupby(["task", "n_train", "n", "set"]).sw.transform("min")
    return frame.assign(blown=frame.lost | (frame.sw > BLOWN_UP_FACTOR * best))


def _either_bounds(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """The view `sbibm` under both factors on the bounds of uniform priors, `bounds`: `widened` or `true`.

    What has no bounds is the same under both; a uniform prior that was not sampled again is there once.
    """
    distances, other = frames["sbibm_distances"], frames.get("other_bounds")
    parts = [_sbibm(frames, facts).assign(bounds=facts.uniform_bounds)]
    if other is not None:
        bounded = [*other.task, *facts.uniform_tasks]
        unbounded = distances[(distances.n_train == distances.n_train.max()) & ~distances.task.isin(bounded)]
        tables = {"sbibm_distances": pd.concat([other, unbounded], ignore_index=True)}
        other_bounds = {"widened": "true", "true": "widened"}[facts.uniform_bounds]
        parts.append(_sbibm(tables, facts).assign(bounds=other_bounds))
    return pd.concat(parts, ignore_index=True)


def _guidance(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """The sbibm part, with the runs that learn the prior's score as a method of their own."""
    frame = pd.concat(
        [frames["sbibm_distances"], frames["guidance"].assign(method=GUIDED)], ignore_index=True
    )
    return _lost_as_infinite(_with_kept(frame, facts), ["sw", "mmd", "c2st"])


def _partial_factorisation(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    return _lost_as_infinite(_with_kept(frames["partial"], facts), ["sw", "mmd", "c2st"])


def _training(name: str, frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """A row per training: epoch and size of its lowest validation loss, and how much the loss jumps.

    `at_end`: the loss was still falling when training ended, so its lowest value is not known.
    """
    losses = frames[name].dropna(subset="val_loss").sort_values("epoch")
    keys = ["task", "n_train", "batch_size", "learning_rate"]
    rows = []
    for key, part in losses.groupby(keys):
        jumps = part.val_loss.diff().abs().median() / part.val_loss.median()
        best = part.loc[part.val_loss.idxmin()]
        row = {**dict(zip(keys, key, strict=True)), "best_epoch": best.epoch, "best_loss": best.val_loss}
        rows.append(
            row
            | {"jumps": _positive_size(jumps), "at_end": bool(best.epoch > LAST_EPOCHS * part.epoch.max())}
        )
    return pd.DataFrame(rows)


def _learning_rates(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """The Jansen-Rit trainings at the smaller learning rate over those at the larger, a row per setting.

    Where either loss was still falling when training ended, neither its epoch nor its lowest value is known.
    """
    frame = _training("jrnmm_losses", frames, facts)
    smaller, larger = (
        frame[frame.learning_rate == rate].set_index("task")
        for rate in (frame.learning_rate.min(), frame.learning_rate.max())
    )
    if frame.learning_rate.nunique() < 2:
        return frame.assign(epoch_ratio=np.nan, loss_ratio=np.nan)
    known = ~(smaller.at_end | larger.at_end)
    ratios = {
        "epoch_ratio": smaller.best_epoch / larger.best_epoch,
        "loss_ratio": smaller.best_loss / larger.best_loss,
    }
    return smaller.assign(**{name: ratio.where(known) for name, ratio in ratios.items()}).reset_index()


def _jrnmm_draws(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """Draws of the tall posteriors, a row per draw and parameter, and `all` for the average over parameters.

    In prior standard deviations: `deviation` from the median of the posterior, and `distance2`, the squared distance
    to the truth. `simulations` of the network and `n_largest` of the run are for tests that need many.
    """
    frame = frames["jrnmm_draws"]
    frame = frame[frame.kind == "tall"]
    scale = frame.parameter.map({name: (b - a) / 12**0.5 for name, (a, b) in facts.bounds.items()})
    truth = frame.parameter.map(facts.theta)
    median = frame.groupby(["dim", "n", "parameter"]).value.transform("median")
    frame = frame.assign(
        deviation=_positive_size((frame.value - median) / scale),
        distance2=((frame.value - truth) / scale) ** 2,
    )
    keys = ["dim", "n", "draw"]
    average = frame.groupby(keys, as_index=False)[["deviation", "distance2"]].mean().assign(parameter="all")
    rows = pd.concat([frame[[*keys, "parameter", "deviation", "distance2"]], average], ignore_index=True)
    return rows.assign(simulations=frames["jrnmm_losses"].n_train.max(), n_largest=rows.n.max())


def _lc2st(frames: Frames, facts: RunFacts) -> pd.DataFrame:
    """An undefined statistic is infinite, with p-value 0: there is no posterior to test."""
    frame = frames["jrnmm_lc2st"]
    return frame.assign(statistic=frame.statistic.fillna(np.inf), p_value=frame.p_value.fillna(0.0))


SOURCES: dict[str, tuple[tuple[str, ...], View]] = {
    "toy": (("toy_distances",), partial(_toy, "toy_distances")),
    "toy_steps": (("toy_steps",), partial(_toy, "toy_steps")),
    "timing": (("toy_timing",), _timing),
    "pedagogical": (("pedagogical",), _pedagogical),
    "sbibm": (("sbibm_distances",), _sbibm),
    "either_bounds": (("sbibm_distances", "other_bounds"), _either_bounds),
    "guidance": (("sbibm_distances", "guidance"), _guidance),
    "partial": (("sbibm_distances", "partial"), _partial_factorisation),
    "training": (("sbibm_losses",), partial(_training, "sbibm_losses")),
    "learning_rates": (("jrnmm_losses",), _learning_rates),
    "jrnmm_draws": (("jrnmm_draws", "jrnmm_losses"), _jrnmm_draws),
    "lc2st": (("jrnmm_lc2st",), _lc2st),
    "theory": (("theory",), lambda frames, facts: frames["theory"]),
}


def views(
    frames: Frames, facts: RunFacts, not_made: Mapping[str, str] = MappingProxyType({})
) -> Callable[[str], pd.DataFrame]:
    """The views by name. `not_made`: paths of tables that a run lacks so far; what needs one has no rows."""

    @cache
    def view(name: str) -> pd.DataFrame:
        sources, make = SOURCES[name]
        if lacking := [not_made[source] for source in sources if source in not_made]:
            raise NoRows(f"{' and '.join(lacking)} not made yet")
        return make(frames, facts)

    return view


def _lost_as_infinite(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """A lost run, and one whose draws blew up (no bounded distance is valid), is infinitely far.

    A C2ST whose classifier had too few samples is missing: no test uses it.
    """
    lost = is_lost(frame.lost_share)
    infinite = {column: lost | ~frame.mmd_valid if column in VALIDITY_COLUMNS else lost for column in columns}
    values = {column: frame[column].mask(rows, np.inf) for column, rows in infinite.items()}
    if "c2st" in columns:
        values["c2st"] = values["c2st"].where(frame.c2st_valid | infinite["c2st"])
    return frame.assign(lost=lost, **values)


def _with_kept(frame: pd.DataFrame, facts: RunFacts) -> pd.DataFrame:
    pairs = {(task, index) for task, sets in facts.kept.items() for index in sets}
    return frame.assign(kept=[pair in pairs for pair in zip(frame.task, frame.set, strict=True)])


def _positive_size(values: Any) -> Any:
    """Absolute values, none of them zero, so that all have a logarithm."""
    return np.maximum(np.abs(values), 1e-12)
