"""Rows by condition, as the claims write it.

{method: GAUSS}             equal
{method: [GAUSS, JAC]}      one of
{n: {min: 14}}              at least; also max (at most), above, below
{n_train: largest}          the largest value among the rows that meet the other conditions; also smallest
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

EXTREMES = ("largest", "smallest")
BOUNDS = {"min": "ge", "max": "le", "above": "gt", "below": "lt"}


class NoRows(Exception):
    """No row meets the conditions: the message says which, and what there is instead."""


def select_rows(frame: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """The rows that meet all conditions; `NoRows` if there is none, `ValueError` if a column is unknown."""
    conditions = {key: value for key, value in where.items() if value not in EXTREMES}
    for column, condition in conditions.items():
        kept = frame[meets(frame, column, condition)]
        if kept.empty:
            raise NoRows(f"no data with {describe({column: condition})} (there is {_values(frame, column)})")
        frame = kept
    for column in where.keys() - conditions.keys():
        _require(frame, [column])
        extreme = frame[column].max() if where[column] == "largest" else frame[column].min()
        frame = frame[frame[column] == extreme]
    return frame


def meets(frame: pd.DataFrame, column: str, condition: Any) -> pd.Series:
    """Whether each row meets a condition, other than `largest` and `smallest`."""
    _require(frame, [column])
    if isinstance(condition, Mapping):
        mask = pd.Series(True, index=frame.index)
        for bound, value in condition.items():
            mask &= getattr(frame[column], BOUNDS[bound])(value)
        return mask
    return frame[column].isin(condition if isinstance(condition, list) else [condition])


def check_unique(frame: pd.DataFrame, keys: Sequence[str]) -> None:
    """Refuses several rows of one unit, which would count it more than once."""
    _require(frame, keys)
    if frame.duplicated(list(keys)).any():
        differing = [
            column
            for column in frame.columns
            if column not in keys and frame.groupby(list(keys))[column].nunique().gt(1).any()
        ]
        raise ValueError(
            f"several rows per {', '.join(keys)}; they differ in {', '.join(differing)}: name one of these in "
            "`where`, `each`, `unit` or `over`"
        )


def describe(where: Mapping[str, Any]) -> str:
    """The conditions in words: `n >= 14, largest n_train`."""
    signs = {"min": ">=", "max": "<=", "above": ">", "below": "<"}
    parts = []
    for column, condition in where.items():
        if isinstance(condition, Mapping):
            parts += [f"{column} {signs[bound]} {value:g}" for bound, value in condition.items()]
        elif isinstance(condition, list):
            parts.append(f"{column} in {', '.join(map(str, condition))}")
        elif condition in EXTREMES:
            parts.append(f"{condition} {column}")
        else:
            parts.append(f"{column} = {condition}")
    return ", ".join(parts)


def _values(frame: pd.DataFrame, column: str, limit: int = 6) -> str:
    """The values of a column, the first `limit` of them."""
    values = sorted(frame[column].dropna().unique().tolist())
    shown = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values[:limit])
    return f"{column} = {shown}{', ...' if len(values) > limit else ''}" if values else "no row at all"


def _require(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    unknown = [column for column in columns if column not in frame.columns]
    if unknown:
        raise ValueError(f"no column {', '.join(unknown)}; there are {', '.join(frame.columns)}")
