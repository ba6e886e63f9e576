"""How a simulator wants its parameters: many at once or one vector, as tensors or as numpy arrays.

Tried with a few parameters, once per simulator: what was found is kept as long as the simulator lives.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from torch import Tensor

from tallsbi.api.chunks import Manner, Simulator, WrongResult, rows_of, words_of
from tallsbi.api.streams import seeded

_ATTEMPTS, _ROWS = 5, 8  # parameters tried to see how a simulator wants them, and rows of each
_SAME = 1e-4  # relative difference of results from tensors and from arrays that is rounding

# What was found, by simulator: batched and numpy.
_known: WeakKeyDictionary[Any, dict[Any, tuple[bool, bool]]] = WeakKeyDictionary()


class OneAtATime(UserWarning):
    """A simulator that was not said to take one parameter vector at a time, but does."""


def manner_of(
    simulator: Simulator, arguments: tuple[Tensor, ...], batched: bool | None, stop: bool, seed: int
) -> Manner:
    """`batched` as the user said it, None if not; what is known of the simulator is not tried again."""
    place = _place(simulator)
    found = place.get(_key(simulator, arguments))
    if found is not None and batched in (None, found[0]):
        return Manner(simulator, *found, stop)
    manner = _tried(simulator, arguments, batched, stop, seed)
    if manner is None:
        # Nothing worked: the real call says why.
        return Manner(simulator, batched is not False, False, stop)
    place[_key(simulator, arguments)] = manner.batched, manner.numpy
    return manner


def _place(simulator: Simulator) -> dict[Any, tuple[bool, bool]]:
    """Of the object a method belongs to, since methods are made anew whenever they are named."""
    try:
        return _known.setdefault(getattr(simulator, "__self__", simulator), {})
    except TypeError:
        return {}  # not every object can be remembered


def _key(simulator: Simulator, arguments: tuple[Tensor, ...]) -> Any:
    return getattr(simulator, "__name__", ""), tuple(a.shape[1] for a in arguments)


def _tried(
    simulator: Simulator, arguments: tuple[Tensor, ...], batched: bool | None, stop: bool, seed: int
) -> Manner | None:
    """With rows of equal parameters, more of them than coordinates."""
    rows = max(arguments[0].shape[1] + 1, _ROWS)
    for k in range(min(_ATTEMPTS, len(arguments[0]))):
        single = tuple(a[k] for a in arguments)
        repeated = tuple(a.expand(rows, -1) for a in single)
        for numpy in (False, True):
            manner = Manner(simulator, True, numpy, stop)
            words = ""
            if batched is not False:
                words = _misfit(manner, repeated, rows, seed)
                if not words or (batched and "WrongResult" in words):
                    return manner
            if batched is True:
                continue
            manner = Manner(simulator, False, numpy, stop)
            if _misfit(manner, single, 1, seed):
                continue
            if batched is None:
                warnings.warn(
                    f"the simulator takes one parameter vector at a time (called with {rows} rows: {words}): it is "
                    "called row by row. Say batched=False to confirm, or write it for rows, which is much faster.",
                    OneAtATime,
                    stacklevel=6,
                )
            return manner if numpy else _with_numpy(manner, single, seed)
    return None


def _with_numpy(manner: Manner, single: tuple[Tensor, ...], seed: int) -> Manner:
    """With arrays where the simulator is written in numpy: arithmetic with single numbers of torch is slow."""
    other = Manner(manner.simulator, False, True, manner.stop)
    try:
        results = []
        for each in (manner, other):
            with seeded(each.simulator, seed):
                result = each.call(single)
            if _of_torch(result):
                return manner
            results += rows_of(result, 1, False)
        given_tensors, given_arrays = results
        same = np.allclose(given_tensors, given_arrays, rtol=_SAME, equal_nan=True)
    except Exception:  # whatever it is, arrays are not for this simulator
        return manner
    return other if same else manner


def _of_torch(result: Any) -> bool:
    if isinstance(result, Sequence):
        return any(isinstance(part, Tensor) for part in result)
    return isinstance(result, Tensor)


def _misfit(manner: Manner, arguments: tuple[Tensor, ...], rows: int, seed: int) -> str:
    """Why the simulator cannot be called in this manner; empty where it can."""
    values = []
    for turn in range(_ATTEMPTS if manner.batched else 1):
        try:
            with seeded(manner.simulator, seed + turn):
                results = rows_of(manner.call(arguments), rows, manner.batched)
        except WrongResult as error:
            return f"WrongResult: {str(error).partition(';')[0]}"
        except Exception as error:
            return words_of(error)
        if len({result.shape for result in results}) > 1 or len({result.tobytes() for result in results}) > 1:
            return ""
        values.append(results[0].tobytes())
    # Equal rows in every call: without noise, or with one noise for all of them.
    return "" if len(set(values)) < 2 else "all rows of equal parameters get the same noise"
