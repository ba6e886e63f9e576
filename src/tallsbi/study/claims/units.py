"""From rows to one number per unit: the mean over the rest, a difference of two sides, or a slope.

A unit is what repeats independently: a parameter set, a seed, a timing round, a draw. Lost runs are infinite.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from tallsbi.study.claims.select import NoRows, check_unique, meets, select_rows
from tallsbi.study.claims.spec import Conditions, SingleTest


def sides(conditions: Conditions) -> list[dict[str, Any]]:
    """A side with lists is several sides, one per combination."""
    choices = [value if isinstance(value, list) else [value] for value in conditions.values()]
    return [dict(zip(conditions, choice, strict=True)) for choice in product(*choices)]


def all_sides(test: SingleTest) -> list[dict[str, Any]]:
    """Those of the left and those of the right; none where a test compares nothing."""
    return [side for conditions in (test.left, test.right) if conditions for side in sides(conditions)]


def on_a_side(frame: pd.DataFrame, test: SingleTest) -> pd.DataFrame:
    """The rows on either side of a comparison; all of them where there are no sides."""
    compared = all_sides(test)
    if not compared:
        return frame
    masks = [[meets(frame, column, condition) for column, condition in side.items()] for side in compared]
    return frame[np.any([np.all(mask, axis=0) for mask in masks], axis=0)]


def paired(frame: pd.DataFrame, left: Conditions, right: Conditions, test: SingleTest) -> pd.DataFrame:
    """Values of both sides, indexed by unit and `over`; only what both sides have."""
    keys = [*test.unit, *test.over]
    frames = [_valid_rows(select_rows(frame, side), test) for side in (left, right)]
    for side_frame in frames:
        check_unique(side_frame, keys)
    left_values, right_values = (side_frame.set_index(keys)[test.value] for side_frame in frames)
    pairs = pd.concat([left_values.rename("left"), right_values.rename("right")], axis=1, join="inner")
    if pairs.empty:
        raise NoRows(f"the two sides share no {', '.join(keys)}")
    return pairs


def difference(pairs: pd.DataFrame, test: SingleTest) -> pd.Series:
    """Left less right for every unit, of logarithms where the test compares these."""
    left, right = (_on_scale(pairs[side], test.logarithmic) for side in ("left", "right"))
    with np.errstate(invalid="ignore"):
        differences = left - right
    comparable = differences[~(np.isinf(left) & np.isinf(right))]
    if comparable.empty:
        raise NoRows("both sides are lost everywhere")
    return averaged(comparable, test)


def values(frame: pd.DataFrame, test: SingleTest) -> pd.Series:
    """The value of every unit."""
    frame, keys = _valid_rows(frame, test), [*test.unit, *test.over]
    check_unique(frame, keys)
    return averaged(_on_scale(frame.set_index(keys)[test.value], test.logarithmic), test)


def condition_met(frame: pd.DataFrame, test: SingleTest) -> pd.Series:
    """Whether each unit meets the condition; with `over`, in any of its rows."""
    check_unique(frame, [*test.unit, *test.over])
    ((column, condition),) = test.condition.items()
    return meets(frame, column, condition).groupby([frame[key] for key in test.unit]).any()


def averaged(numbers: pd.Series, test: SingleTest) -> pd.Series:
    """One number per unit: the mean over the rest, or with `aggregate: max` the largest."""
    groups = numbers.groupby(level=list(test.unit))
    if test.aggregate == "max":
        return groups.max()
    # Infinitely better here and infinitely worse there, a sum that is not a number, counts as no difference.
    return groups.mean().fillna(0.0)


def slopes(numbers: pd.Series, x: str) -> pd.Series:
    """Per unit, the least squares slope in log x; with infinite values infinite too, with the sign of Kendall's sum."""
    matrix = numbers.unstack(x)
    position = np.log(matrix.columns.to_numpy(float))
    present = matrix.notna().to_numpy()
    y = matrix.fillna(0.0).to_numpy()
    counts = present.sum(1)
    mean_position = (present * position).sum(1) / np.maximum(counts, 1)
    centred = present * (position - mean_position[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        fitted = (centred * np.where(np.isinf(y), 0.0, y)).sum(1) / (centred**2).sum(1)
        for row in np.flatnonzero(np.isinf(y).any(1)):
            rises = np.sign(np.subtract.outer(y[row, present[row]], y[row, present[row]]))
            order = np.sign(np.subtract.outer(position[present[row]], position[present[row]]))
            trend = np.nansum(rises * order)
            fitted[row] = np.sign(trend) * np.inf if trend else 0.0
    return pd.Series(fitted, index=matrix.index)[counts > 1]


def _valid_rows(frame: pd.DataFrame, test: SingleTest) -> pd.DataFrame:
    """The rows with a value: an invalid comparison has none."""
    valid = frame[frame[test.value].notna()]
    if valid.empty:
        raise NoRows(f"no {test.value} that is valid: too few samples for its dimension")
    return valid


def _on_scale(numbers: pd.Series, logarithmic: bool) -> pd.Series:
    if not logarithmic:
        return numbers.astype(float)
    if (numbers <= 0).any():
        raise ValueError(
            f"{numbers.name} has values that are not positive, so it has no logarithm: use `scale: "
            "difference` (compare) or `scale: linear` (trend, value)"
        )
    return np.log(numbers.astype(float))
