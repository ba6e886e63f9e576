"""How a simulator wants its parameters: many at once or one vector, as tensors or as numpy arrays.

It is tried with a few parameters, once per simulator; the result is kept as long as the simulator lives.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from torch import Tensor

from tallsbi.api.chunks import Manner, Simulator, WrongResult, error_text, rows_of
from tallsbi.api.streams import seeded

_ATTEMPTS = 5  # parameters tried, and calls with each
_FEWEST_ROWS = 8  # of a trial call
_TOLERANCE = 1e-4  # relative difference of results from tensors and from arrays that is rounding

# `batched` and `numpy` of the manner, by simulator.
_manners: WeakKeyDictionary[Any, dict[Any, tuple[bool, bool]]] = WeakKeyDictionary()


class OneAtATime(UserWarning):
    """A simulator takes one parameter vector at a time, and batched=False was not given."""


def manner_of(
    simulator: Simulator, arguments: tuple[Tensor, ...], batched: bool | None, stop: bool, seed: int
) -> Manner:
    """`batched` as the user gave it, None if not; a manner that is known is not tried again."""
    manners = _known_manners(simulator)
    known = manners.get(_key(simulator, arguments))
    if known is not None and batched in (None, known[0]):
        return Manner(simulator, *known, stop)
    manner = _tried(simulator, arguments, batched, stop, seed)
    if manner is None:
        # Nothing worked: the real call raises the error.
        return Manner(simulator, batched is not False, False, stop)
    manners[_key(simulator, arguments)] = manner.batched, manner.numpy
    return manner


def _known_manners(simulator: Simulator) -> dict[Any, tuple[bool, bool]]:
    """Kept for the object that a method belongs to, since `object.method` is a new one every time."""
    try:
        return _manners.setdefault(getattr(simulator, "__self__", simulator), {})
    except TypeError:
        return {}  # no weak reference to this object


def _key(simulator: Simulator, arguments: tuple[Tensor, ...]) -> Any:
    return getattr(simulator, "__name__", ""), tuple(a.shape[1] for a in arguments)


def _tried(
    simulator: Simulator, arguments: tuple[Tensor, ...], batched: bool | None, stop: bool, seed: int
) -> Manner | None:
    """The first manner that works, None if none does; tried with rows of equal parameters, more than coordinates."""
    rows = max(arguments[0].shape[1] + 1, _FEWEST_ROWS)
    for k in range(min(_ATTEMPTS, len(arguments[0]))):
        single = tuple(a[k] for a in arguments)
        repeated = tuple(a.expand(rows, -1) for a in single)
        for numpy in (False, True):
            manner = Manner(simulator, True, numpy, stop)
            reason = ""
            if batched is not False:
                reason = _reason_against(manner, repeated, rows, seed)
                if not reason or (batched and "WrongResult" in reason):
                    return manner
            if batched is True:
                continue
            manner = Manner(simulator, False, numpy, stop)
            if _reason_against(manner, single, 1, seed):
                continue
            if batched is None:
                warnings.warn(
                    f"the simulator takes one parameter vector at a time (called with {rows} rows: {reason}): it is "
                    "called row by row. Say batched=False to confirm, or write it for rows, which is much faster.",
                    OneAtATime,
                    stacklevel=6,
                )
            return manner if numpy else _with_numpy(manner, single, seed)
    return None


def _with_numpy(manner: Manner, single: tuple[Tensor, ...], seed: int) -> Manner:
    """With arrays where the simulator is written in numpy: arithmetic with single numbers of torch is slow."""
    with_arrays = Manner(manner.simulator, False, True, manner.stop)
    try:
        results = []
        for candidate in (manner, with_arrays):
            with seeded(candidate.simulator, seed):
                result = candidate.call(single)
            if _is_torch(result):
                return manner
            results += rows_of(result, 1, False)
        from_tensors, from_arrays = results
        same = np.allclose(from_tensors, from_arrays, rtol=_TOLERANCE, equal_nan=True)
    except Exception:  # whatever it is, arrays are not for this simulator
        return manner
    return with_arrays if same else manner


def _is_torch(result: Any) -> bool:
    if isinstance(result, Sequence):
        return any(isinstance(part, Tensor) for part in result)
    return isinstance(result, Tensor)


def _reason_against(manner: Manner, arguments: tuple[Tensor, ...], rows: int, seed: int) -> str:
    """Why the simulator cannot be called in this manner; empty where it can."""
    values = []
    for attempt in range(_ATTEMPTS if manner.batched else 1):
        try:
            with seeded(manner.simulator, seed + attempt):
                results = rows_of(manner.call(arguments), rows, manner.batched)
        except WrongResult as error:
            return f"WrongResult: {str(error).partition(';')[0]}"
        except Exception as error:
            return error_text(error)
        if len({result.shape for result in results}) > 1 or len({result.tobytes() for result in results}) > 1:
            return ""
        values.append(results[0].tobytes())
    # All rows of a call are equal: there is no noise, or all rows get the same.
    return "" if len(set(values)) < 2 else "all rows of equal parameters get the same noise"
