"""The kinds of tests. Each takes a test and the rows it is about, and gives evidence.

    compare   ratio or difference of a value between two sides, paired over units (sets, seeds, rounds, draws)
    trend     slope of a value in the logarithm of another, unit by unit; with sides, that of their ratio
    value     a value against a number
    share     the share of units that meet a condition against a number
    shares    the difference of two such shares
    exact     values without noise against a number
    all, any  several of these

`each` splits a test, which must then hold for every value of these columns; with `some`, for at least one. `over` are
the columns a unit is averaged over first (of logarithms, for ratios). Lost runs are infinite; where both sides are lost
there is nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from tallsbi.study.claims import intervals, units
from tallsbi.study.claims.quantities import quantity
from tallsbi.study.claims.select import NoRows, describe, select_rows
from tallsbi.study.claims.spec import Combination, Conditions, SingleTest, Test
from tallsbi.study.claims.verdicts import ALPHA, CombinedEvidence, Evidence

Data = Callable[[str], pd.DataFrame]
"""The frame of a view, by its name."""

_UNKNOWN_SIZE = 1e-9  # stands for a difference of which only the sign is known
# Results vary over these: with fewer of them nothing is decided, however many tasks or dimensions there are.
REPLICATES = {"set": 3, "seed": 3}


def evidence(test: Test, data: Data) -> Evidence | CombinedEvidence:
    """The evidence of a test, as a tree; where data are lacking it says so instead."""
    if isinstance(test, Combination):
        return CombinedEvidence(tuple(evidence(inner, data) for inner in test.of), every=test.kind == "all")
    try:
        chosen = select_rows(data(test.data), test.where)
        _check_needs(units.on_a_side(chosen, test), test.needs)
    except NoRows as lack:
        return Evidence(test.label, test.expected, missing=str(lack))
    leaves = []
    for label, part in _split(chosen, test):
        try:
            leaves += _KINDS[test.kind](part, label, test)
        except NoRows as lack:
            leaves.append(Evidence(label, test.expected, missing=str(lack)))
    leaves = [replace(leaf, quantity=leaf.quantity or quantity(test)) for leaf in leaves]
    return leaves[0] if len(leaves) == 1 else CombinedEvidence(tuple(leaves), every=not test.some)


def _split(frame: pd.DataFrame, test: SingleTest) -> Iterator[tuple[str, pd.DataFrame]]:
    """Label and rows for every value of `each` or `some`."""
    columns = list(test.each or test.some)
    if not columns:
        yield test.label, frame
        return
    for key, part in frame.groupby(columns, sort=True):
        yield _join_labels(test.label, describe(dict(zip(columns, key, strict=True)))), part


def _check_needs(frame: pd.DataFrame, needs: Mapping[str, float]) -> None:
    for column, needed in needs.items():
        if len(frame) and frame[column].min() < needed:
            raise NoRows(f"{column} is {frame[column].min():g}, the test needs {needed:g}")


def _compare(frame: pd.DataFrame, label: str, test: SingleTest) -> list[Evidence]:
    leaves = []
    for left, right in product(units.sides(test.left), units.sides(test.right)):
        name = _join_labels(label, _name_sides(left, right))
        try:
            pairs = units.paired(frame, left, right, test)
            differences = units.difference(pairs, test)
        except NoRows as lack:
            leaves.append(Evidence(name, test.expected, missing=str(lack)))
            continue
        leaf = _centre_evidence(differences, name, test, np.exp if test.logarithmic else float, pairs)
        leaves.append(replace(leaf, quantity=quantity(test, (_name_side(left), _name_side(right)))))
    return leaves


def _trend(frame: pd.DataFrame, label: str, test: SingleTest) -> list[Evidence]:
    x, number = test.x, quantity(test)
    if frame[x].nunique() < 2:
        raise NoRows(f"only one {x} ({frame[x].iloc[0]:g}): no trend")
    at_each_x = replace(test, unit=(*test.unit, x))
    if test.left:
        (left,), (right,) = units.sides(test.left), units.sides(test.right)
        label = _join_labels(label, _name_sides(left, right))
        number = quantity(test, (_name_side(left), _name_side(right)))
        numbers = units.difference(units.paired(frame, left, right, at_each_x), at_each_x)
    else:
        numbers = units.values(frame, at_each_x)
    slopes = units.slopes(numbers, x)
    if slopes.empty:
        raise NoRows(f"no unit has two {x}")
    span = " to ".join(f"{value:g}" for value in (frame[x].min(), frame[x].max()))
    leaf = _centre_evidence(slopes, label, test, float, detail=f"slope in log {x} from {span}")
    return [replace(leaf, quantity=number)]


def _value(frame: pd.DataFrame, label: str, test: SingleTest) -> list[Evidence]:
    return [_centre_evidence(units.values(frame, test), label, test, np.exp if test.logarithmic else float)]


def _share(frame: pd.DataFrame, label: str, test: SingleTest) -> list[Evidence]:
    """With sides, the difference of their shares."""
    sides = units.all_sides(test)
    outcomes = [units.condition_met(select_rows(frame, side), test) for side in sides or [{}]]
    counts = [(int(outcome.sum()), len(outcome)) for outcome in outcomes]
    shares = [successes / count for successes, count in counts]
    details = [f"{successes} of {count}" for successes, count in counts]
    if sides:
        label = _join_labels(label, _name_sides(*sides))
        details = [f"{describe(side)}: {detail}" for side, detail in zip(sides, details, strict=True)]
    interval = (
        intervals.share_difference_interval
        if sides
        else lambda counted, alpha: intervals.share_interval(*counted, alpha)
    )
    # None and all of the units, on either side.
    corners = product(*(((0, count), (count, count)) for _, count in counts))
    return [
        Evidence(
            label,
            test.expected,
            shares[0] - sum(shares[1:]),
            partial(interval, *counts),
            min(count for _, count in counts),
            _unit_names(test),
            ", ".join(details),
            quantity(test, tuple(map(_name_side, sides))),
            missing=_too_few_replicates(outcomes[0].index, test),
            extremes=tuple(partial(interval, *corner) for corner in corners),
        )
    ]


def _exact(frame: pd.DataFrame, label: str, test: SingleTest) -> list[Evidence]:
    values = frame[test.value].to_numpy(float)
    if np.isnan(values).any():
        raise NoRows(f"{test.value} is missing in {int(np.isnan(values).sum())} of {len(values)} rows")
    low, high = float(values.min()), float(values.max())
    # Shown is the value that is closest to leaving the range.
    worst = high if test.expected[1] - high < low - test.expected[0] else low
    return [
        Evidence(
            label, test.expected, worst, lambda alpha: (low, high), len(values), "exact values", exact=True
        )
    ]


_KINDS = {
    "compare": _compare,
    "trend": _trend,
    "value": _value,
    "share": _share,
    "shares": _share,
    "exact": _exact,
}


def _centre_evidence(
    numbers: pd.Series,
    label: str,
    test: SingleTest,
    inverse: Callable[[float], float],
    pairs: pd.DataFrame | None = None,
    detail: str = "",
) -> Evidence:
    """Evidence on the centre of one number per unit; `inverse` takes it from its scale to that of the claim."""
    values, mean = numbers.to_numpy(float), test.average == "mean"
    lost = None
    if pairs is not None:
        by_unit = np.isinf(pairs).groupby(level=list(test.unit)).any()
        lost = {side: (int(by_unit[side].sum()), len(by_unit)) for side in ("left", "right")}
        medians = pairs.replace([np.inf], np.nan).median()
        detail = " vs ".join(_median(float(medians[side]), *lost[side]) for side in ("left", "right"))

    def interval(alpha: float) -> tuple[float, float]:
        low, high = _interval(values, lost, alpha, mean, test.noise)
        return float(inverse(low)), float(inverse(high))

    missing = _too_few_replicates(numbers.index, test)
    if not missing and len(values) < intervals.MIN_UNITS:
        missing = f"{len(values)} {_unit_names(test)}, {intervals.MIN_UNITS} are needed"
    estimate = float(inverse(intervals.centre(values, mean)))
    # Among so few units a lost run leaves no interval, whatever the others are.
    bounded = (
        np.isfinite(values).all() or _interval(values, lost, ALPHA, mean, test.noise) != intervals.UNBOUNDED
    )
    return Evidence(
        label,
        test.expected,
        estimate,
        interval,
        len(values),
        _unit_names(test),
        detail,
        missing=missing,
        extremes=None if bounded else (interval,),
    )


def _interval(
    values: np.ndarray, lost: Mapping[str, tuple[int, int]] | None, alpha: float, mean: bool, noise: float
) -> tuple[float, float]:
    """Where runs of a comparison were lost, half of alpha is for the question which side loses more of them."""
    if lost is None or not any(count for count, _ in lost.values()):
        return intervals.centre_interval(values, alpha, mean, noise)
    low, high = intervals.centre_interval(values, alpha / 2, mean, noise)
    left_more, right_more = intervals.lost_more_often(lost["left"], lost["right"])
    if left_more < alpha / 4:
        low = max(low, _UNKNOWN_SIZE)
    if right_more < alpha / 4:
        high = min(high, -_UNKNOWN_SIZE)
    return low, high


def _too_few_replicates(index: pd.Index, test: SingleTest) -> str:
    """That there are too few sets or seeds; empty if there are enough."""
    for column in REPLICATES.keys() & set(test.unit):
        count = index.get_level_values(column).nunique()
        if count < REPLICATES[column]:
            return f"{count} {column}, {REPLICATES[column]} are needed"
    return ""


def _median(median: float, lost: int, count: int) -> str:
    """The median of a side, and how many units it lost."""
    if np.isnan(median):
        return "all lost"
    return f"{median:.3g}" + (f" ({lost} of {count} lost)" if lost else "")


def _name_sides(left: Conditions, right: Conditions) -> str:
    """`GAUSS vs JAC`, with what else differs between the sides."""
    return f"{_name_side(left)} vs {_name_side(right)}"


def _name_side(side: Conditions) -> str:
    rest = describe({key: value for key, value in side.items() if key != "method"})
    return " ".join(filter(None, [str(side.get("method", "")), f"({rest})" if rest else ""]))


def _join_labels(*labels: str) -> str:
    return ", ".join(filter(None, labels))


def _unit_names(test: SingleTest) -> str:
    return " x ".join(test.unit)
