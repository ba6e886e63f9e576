"""The kinds of tests. Each takes its description from the YAML and the data, and gives evidence.

    compare   ratio or difference of a value between two sides, paired over units (sets, seeds, rounds, draws)
    trend     slope of a value in the logarithm of another, unit by unit; with sides, that of their ratio
    value     a value against a number
    share     the share of units that meet a condition against a number
    shares    the difference of two such shares
    exact     values without noise against a number
    all, any  several of these

`each` splits a test: what it says is then asked for every value of these columns; with `some`, for at least one.
`over` are the columns a unit is averaged over first (of logarithms, for ratios). Lost runs are infinite; where
both sides are lost there is nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from tallsbi.study.claims import intervals
from tallsbi.study.claims.select import NoRows, check_unique, describe, meets, rows
from tallsbi.study.claims.verdicts import Evidence, Parts

Test = Mapping[str, Any]
Data = Callable[[str], pd.DataFrame]

_SOME = 1e-9  # a difference of unknown size
# What results vary over: with fewer of them nothing is decided, however many tasks or dimensions there are.
REPLICATES = {"set": 3, "seed": 3}


def evidence(test: Test, data: Data) -> Evidence | Parts:
    """The evidence of one test, as a tree; where data are lacking it says so instead."""
    if test["kind"] in ("all", "any"):
        return Parts(tuple(evidence(part, data) for part in test["of"]), every=test["kind"] == "all")
    expected = expectation(test)
    try:
        chosen = rows(data(test["data"]), test.get("where", {}))
        _check_needs(_compared(chosen, test), test.get("needs", {}))
        found = [_KINDS[test["kind"]](part, label, test) for label, part in _split(chosen, test)]
    except NoRows as lack:
        return Evidence(test.get("label", ""), expected, missing=str(lack))
    flat = [leaf for leaves in found for leaf in leaves]
    return flat[0] if len(flat) == 1 else Parts(tuple(flat), every="some" not in test)


def expectation(test: Test) -> tuple[float, float]:
    """The open range of the test's number: of a ratio, a difference, a slope, a share or the value itself."""
    expect, ratio = test["expect"], test["kind"] == "compare" and test.get("scale", "ratio") == "ratio"
    neutral = 1.0 if ratio else 0.0
    if expect == "less":
        return -np.inf, neutral
    if expect == "greater":
        return neutral, np.inf
    ((word, number),) = expect.items()
    if word == "about":
        return (1 / (1 + number), 1 + number) if ratio else (-number, number)
    return {
        "below": lambda: (-np.inf, number),
        "above": lambda: (number, np.inf),
        "between": lambda: tuple(map(float, number)),
    }[word]()


def _split(frame: pd.DataFrame, test: Test) -> Iterator[tuple[str, pd.DataFrame]]:
    each = list(test.get("each") or test.get("some", []))
    if not each:
        yield test.get("label", ""), frame
        return
    for key, part in frame.groupby(each, sort=True):
        yield (
            ", ".join(filter(None, [test.get("label", ""), describe(dict(zip(each, key, strict=True)))])),
            part,
        )


def _compared(frame: pd.DataFrame, test: Test) -> pd.DataFrame:
    """The rows on either side of a comparison; all of them where there are no sides."""
    sides = [side for name in ("left", "right") if name in test for side in _sides(test[name])]
    if not sides:
        return frame
    masks = [[meets(frame, column, condition) for column, condition in side.items()] for side in sides]
    return frame[np.any([np.all(mask, axis=0) for mask in masks], axis=0)]


def _check_needs(frame: pd.DataFrame, needs: Mapping[str, float]) -> None:
    for column, least in needs.items():
        if len(frame) and frame[column].min() < least:
            raise NoRows(f"{column} is {frame[column].min():g}, the test needs {least:g}")


def _compare(frame: pd.DataFrame, label: str, test: Test) -> list[Evidence]:
    logarithm = test.get("scale", "ratio") == "ratio"
    found = []
    for left, right in product(_sides(test["left"]), _sides(test["right"])):
        name = ", ".join(filter(None, [label, _versus(left, right)]))
        try:
            pairs = _paired(frame, left, right, test)
            differences = _averaged(_difference(pairs, logarithm), test)
        except NoRows as lack:
            found.append(Evidence(name, expectation(test), missing=str(lack)))
            continue
        found.append(_located(differences, name, test, np.exp if logarithm else float, pairs))
    return found


def _trend(frame: pd.DataFrame, label: str, test: Test) -> list[Evidence]:
    logarithm, x = test.get("scale", "log") == "log", test["x"]
    if frame[x].nunique() < 2:
        raise NoRows(f"only one {x} ({frame[x].iloc[0]:g}): no trend")
    if "left" in test:
        (left,), (right,) = _sides(test["left"]), _sides(test["right"])
        name = ", ".join(filter(None, [label, _versus(left, right)]))
        keyed = {**test, "unit": [*test["unit"], x]}
        values = _averaged(_difference(_paired(frame, left, right, keyed), logarithm), keyed)
    else:
        name, keyed = label, [*test["unit"], *test.get("over", []), x]
        check_unique(frame, keyed)
        values = _transformed(frame.set_index(keyed)[test["value"]], logarithm)
        values = _averaged(values, {**test, "unit": [*test["unit"], x]})
    slopes = _slopes(values, x)
    if slopes.empty:
        raise NoRows(f"no unit has two {x}")
    span = " to ".join(f"{value:g}" for value in (frame[x].min(), frame[x].max()))
    return [_located(slopes, name, test, float, detail=f"slope in log {x} from {span}")]


def _value(frame: pd.DataFrame, label: str, test: Test) -> list[Evidence]:
    logarithm = test.get("scale", "linear") == "log"
    keys = [*test["unit"], *test.get("over", [])]
    check_unique(frame, keys)
    values = _averaged(_transformed(frame.set_index(keys)[test["value"]], logarithm), test)
    return [_located(values, label, test, np.exp if logarithm else float)]


def _share(frame: pd.DataFrame, label: str, test: Test) -> list[Evidence]:
    met = _met(frame, test)
    successes, count = int(met.sum()), len(met)
    return [
        Evidence(
            label,
            expectation(test),
            successes / count,
            lambda alpha: intervals.share(successes, count, alpha),
            count,
            _units(test),
            f"{successes} of {count}",
            missing=_few(met.index, test),
        )
    ]


def _shares(frame: pd.DataFrame, label: str, test: Test) -> list[Evidence]:
    (left,), (right,) = _sides(test["left"]), _sides(test["right"])
    met = [_met(rows(frame, side), test) for side in (left, right)]
    counts = [(int(each.sum()), len(each)) for each in met]
    return [
        Evidence(
            ", ".join(filter(None, [label, _versus(left, right)])),
            expectation(test),
            counts[0][0] / counts[0][1] - counts[1][0] / counts[1][1],
            lambda alpha: intervals.share_difference(*counts, alpha),
            min(count for _, count in counts),
            _units(test),
            ", ".join(
                f"{describe(side)}: {some} of {count}"
                for side, (some, count) in zip((left, right), counts, strict=True)
            ),
            missing=_few(met[0].index, test),
        )
    ]


def _exact(frame: pd.DataFrame, label: str, test: Test) -> list[Evidence]:
    values = frame[test["value"]].to_numpy(float)
    if np.isnan(values).any():
        raise NoRows(f"{test['value']} is missing in {int(np.isnan(values).sum())} of {len(values)} rows")
    low, high = float(values.min()), float(values.max())
    expected = expectation(test)
    # Shown is the value that is closest to leaving the range.
    worst = high if expected[1] - high < low - expected[0] else low
    return [
        Evidence(label, expected, worst, lambda alpha: (low, high), len(values), "exact values", exact=True)
    ]


_KINDS = {
    "compare": _compare,
    "trend": _trend,
    "value": _value,
    "share": _share,
    "shares": _shares,
    "exact": _exact,
}


def _sides(side: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A side with lists is several sides, one per combination."""
    choices = [value if isinstance(value, list) else [value] for value in side.values()]
    return [dict(zip(side, choice, strict=True)) for choice in product(*choices)]


def _versus(left: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    """`GAUSS vs JAC`, with what else differs between the sides."""

    def name(side: Mapping[str, Any]) -> str:
        rest = describe({key: value for key, value in side.items() if key != "method"})
        return " ".join(filter(None, [str(side.get("method", "")), f"({rest})" if rest else ""]))

    return f"{name(left)} vs {name(right)}"


def _paired(frame: pd.DataFrame, left: Test, right: Test, test: Test) -> pd.DataFrame:
    """Values of both sides, indexed by unit and `over`; only what both sides have."""
    keys = [*test["unit"], *test.get("over", [])]
    sides = [rows(frame, side) for side in (left, right)]
    for side in sides:
        check_unique(side, keys)
    first, second = (side.set_index(keys)[test["value"]] for side in sides)
    pairs = pd.concat([first.rename("left"), second.rename("right")], axis=1, join="inner")
    if pairs.empty:
        raise NoRows(f"the two sides share no {', '.join(keys)}")
    return pairs


def _transformed(values: pd.Series, logarithm: bool) -> pd.Series:
    if not logarithm:
        return values.astype(float)
    if (values <= 0).any():
        raise ValueError(
            f"{values.name} has values that are not positive, so it has no logarithm: use `scale: "
            "difference` (compare) or `scale: linear` (trend, value)"
        )
    return np.log(values.astype(float))


def _difference(pairs: pd.DataFrame, logarithm: bool) -> pd.Series:
    left, right = (_transformed(pairs[side], logarithm) for side in ("left", "right"))
    with np.errstate(invalid="ignore"):
        difference = left - right
    comparable = difference[~(np.isinf(left) & np.isinf(right))]
    if comparable.empty:
        raise NoRows("both sides are lost everywhere")
    return comparable


def _averaged(values: pd.Series, test: Test) -> pd.Series:
    """One number per unit: the mean over the rest, or with `aggregate: max` the largest."""
    groups = values.groupby(level=list(test["unit"]))
    if test.get("aggregate", "mean") == "max":
        return groups.max()
    # Infinitely better here and infinitely worse there (a sum that is no number): no difference.
    return groups.mean().fillna(0.0)


def _slopes(values: pd.Series, x: str) -> pd.Series:
    """Per unit, the slope in log x by least squares; infinite where values are, by the sign of Kendall's sum."""
    matrix = values.unstack(x)
    position = np.log(matrix.columns.to_numpy(float))
    there = matrix.notna().to_numpy()
    y = matrix.fillna(0.0).to_numpy()
    counts = there.sum(1)
    middle = (there * position).sum(1) / np.maximum(counts, 1)
    centred = there * (position - middle[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = (centred * np.where(np.isinf(y), 0.0, y)).sum(1) / (centred**2).sum(1)
        for row in np.flatnonzero(np.isinf(y).any(1)):
            steps = np.sign(np.subtract.outer(y[row, there[row]], y[row, there[row]]))
            order = np.sign(np.subtract.outer(position[there[row]], position[there[row]]))
            trend = np.nansum(steps * order)
            slopes[row] = np.sign(trend) * np.inf if trend else 0.0
    return pd.Series(slopes, index=matrix.index)[counts > 1]


def _located(
    numbers: pd.Series,
    label: str,
    test: Test,
    back: Callable[[float], float],
    pairs: pd.DataFrame | None = None,
    detail: str = "",
) -> Evidence:
    """Evidence on the centre of one number per unit; `back` takes it to the scale the claim speaks in."""
    values, mean = numbers.to_numpy(float), test.get("average") == "mean"
    estimate = intervals.centre(values, mean)
    lost = None
    if pairs is not None:
        by_unit = np.isinf(pairs).groupby(level=list(test["unit"])).any()
        lost = {side: (int(by_unit[side].sum()), len(by_unit)) for side in ("left", "right")}

    def interval(alpha: float) -> tuple[float, float]:
        low, high = _interval(values, lost, alpha, mean, test.get("noise", 0.0))
        return float(back(low)), float(back(high))

    if pairs is not None:
        middle = pairs.replace([np.inf], np.nan).median()
        detail = " vs ".join(_told(float(middle[side]), *lost[side]) for side in ("left", "right"))
    few = _few(numbers.index, test)
    if not few and len(values) < intervals.FEWEST:
        few = f"{len(values)} {_units(test)}, {intervals.FEWEST} are needed"
    return Evidence(
        label,
        expectation(test),
        float(back(estimate)),
        interval,
        len(values),
        _units(test),
        detail,
        missing=few,
    )


def _few(units: pd.Index, test: Test) -> str:
    """Why there are too few sets or seeds, or nothing."""
    for column in REPLICATES.keys() & set(test["unit"]):
        count = units.get_level_values(column).nunique()
        if count < REPLICATES[column]:
            return f"{count} {column}, {REPLICATES[column]} are needed"
    return ""


def _told(middle: float, lost: int, count: int) -> str:
    """The median of a side, and how many units it lost."""
    if np.isnan(middle):
        return "all lost"
    return f"{middle:.3g}" + (f" ({lost} of {count} lost)" if lost else "")


def _interval(
    values: np.ndarray, lost: Mapping[str, tuple[int, int]] | None, alpha: float, mean: bool, noise: float
) -> tuple[float, float]:
    """Where runs of a comparison were lost, half of alpha is for the question which side loses more of them."""
    if lost is None or not any(count for count, _ in lost.values()):
        return intervals.around(values, alpha, mean, noise)
    low, high = intervals.around(values, alpha / 2, mean, noise)
    left_more, right_more = intervals.lost_more_often(lost["left"], lost["right"])
    if left_more < alpha / 4:
        low = max(low, _SOME)
    if right_more < alpha / 4:
        high = min(high, -_SOME)
    return low, high


def _met(frame: pd.DataFrame, test: Test) -> pd.Series:
    """Whether a unit meets the condition, for `over` in any of its rows."""
    keys = [*test["unit"], *test.get("over", [])]
    check_unique(frame, keys)
    ((column, condition),) = test["condition"].items()
    return meets(frame, column, condition).groupby([frame[key] for key in test["unit"]]).any()


def _units(test: Test) -> str:
    return " x ".join(test["unit"])
