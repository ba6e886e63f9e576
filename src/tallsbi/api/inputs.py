"""What users hand in, checked: arrays of any kind, numbers, methods and their settings."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tallsbi import algorithms
from tallsbi.algorithms.base import Algorithm

METHOD = "AUTO"
"""The method unless another one is named: GAUSS_PD for few observations, CLT for many."""


def as_tensor(values: Any, name: str) -> Tensor:
    """Numbers in a floating-point tensor on the CPU; lists and numpy arrays are taken too."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name}: a masked array with missing values; leave out what is missing, or fill it in."
        )
    if isinstance(values, (list, tuple)) and len(values) and hasattr(values[0], "shape"):
        parts = [as_tensor(part, f"{name}[{i}]") for i, part in enumerate(values)]
        shapes = {tuple(part.shape) for part in parts}
        if len(shapes) > 1:
            raise ValueError(
                f"{name}: arrays of different shapes, {' and '.join(map(str, sorted(shapes)[:2]))}; they must be equal."
            )
        return torch.stack([part.double() for part in parts])
    if hasattr(values, "to_numpy") and hasattr(values, "columns"):
        values = _frame(values, name)
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        values = values.to_dense() if values.layout != torch.strided else values
        if values.is_complex():
            raise ValueError(f"{name}: holds {values.dtype}; give real numbers.")
    else:
        try:
            array = np.asarray(values)
            if array.dtype.kind not in "fiub":
                raise TypeError(f"holds {array.dtype}")
            # A copy: torch shares memory otherwise, and refuses arrays that are read-only or reversed.
            values = torch.from_numpy(np.array(array))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name}: not an array of numbers ({error}); give a torch tensor, a numpy array or lists of "
                "equal lengths."
            ) from error
    return values if values.is_floating_point() else values.double()


def _frame(frame: Any, name: str) -> np.ndarray:
    """A data frame, its columns as coordinates."""
    columns = []
    for column in frame.columns:
        try:
            columns.append(np.asarray(frame[column].to_numpy(), dtype=float))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name}: column {column!r} of the data frame is not numeric ({error}); leave it out or code it."
            ) from error
    return np.stack(columns, axis=1) if columns else np.zeros((len(frame), 0))


def not_finite(x: Tensor, name: str) -> str:
    """The error message for observations that are not finite, with the first of them."""
    x = x[None] if x.ndim == 2 else x
    dataset, observation, coordinate = (int(i) for i in (~x.isfinite()).nonzero()[0])
    rows = int((~x.isfinite()).any(-1).sum())
    return (
        f"{name}: observation {observation} of dataset {dataset} is {float(x[dataset, observation, coordinate])}"
        f" in coordinate {coordinate} ({rows} of {x.shape[0] * x.shape[1]} observations are not finite); leave "
        "such observations out."
    )


def shaped(x: Tensor, dim: int, name: str) -> Tensor:
    """`x` itself, checked to be [n, d] or [B, n, d] and not empty."""
    if x.ndim not in (2, 3):
        if x.shape == (0,):
            not_empty(x, name)
        hint = f"; give {name}[:, None]" if x.ndim == 1 and dim == 1 else ""
        hint = hint or (f"; one observation is {name}[None]" if x.ndim == 1 and len(x) == dim else "")
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}: give n observations of one dataset, [n, {dim}], or of B "
            f"datasets, [B, n, {dim}]{hint}."
        )
    if x.shape[-1] != dim:
        raise ValueError(
            f"{name} has observations of {x.shape[-1]} numbers, shape {tuple(x.shape)}; the network was trained "
            f"on {dim} numbers each: the last axis must be {dim}."
        )
    not_empty(x, name)
    return x


def not_empty(x: Tensor, name: str) -> None:
    if 0 in x.shape[:-1] or x.shape == (0,):
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}, without a single observation; without observations the posterior "
            "is the prior."
        )


def draws(values: Any, dim: int) -> Tensor:
    """Draws [S, m] of one dataset; those that are not finite are left out."""
    theta = as_tensor(values, "draws").double()
    if theta.ndim != 2 or theta.shape[1] != dim:
        raise ValueError(f"draws has shape {tuple(theta.shape)}: give those of one dataset, [S, {dim}].")
    finite = theta.isfinite().all(1)
    if int(finite.sum()) < 2:
        raise ValueError(
            f"draws: only {int(finite.sum())} of {len(theta)} are finite; at least two are needed."
        )
    return theta[finite]


def choice(value: Any, options: Sequence[str], name: str) -> str:
    """One of a few words."""
    if value not in options:
        raise ValueError(f"{name} = {value!r}: it must be one of {', '.join(map(repr, options))}.")
    return str(value)


def count(value: Any, name: str) -> int:
    """A positive integer."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 1:
        raise ValueError(f"{name} = {value!r}: it must be a positive integer.")
    return int(value)


def algorithm(method: Any, settings: Any, clip: Any) -> Algorithm:
    """The method with its settings, each checked before anything is drawn."""
    if not isinstance(method, str):
        raise TypeError(f"method = {method!r}: give the name of a method, such as {METHOD!r}.")
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings = {settings!r}: give a mapping, such as {{'steps': 150}}.")
    if isinstance(clip, bool) or not isinstance(clip, (int, float)) or not 0 < clip < math.inf:
        raise ValueError(f"clip = {clip!r}: it must be a positive number.")
    chosen = dict(settings or {})
    algorithms.check_settings(method, chosen, "settings[{key!r}]")
    for key, value in chosen.items():
        if key.endswith("steps") or key.endswith("samples"):
            chosen[key] = count(value, f"settings[{key!r}]")
    return algorithms.build(method, chosen, clip=clip)


def widths(hidden: Any) -> tuple[int, ...]:
    """The widths of the hidden layers."""
    if isinstance(hidden, (str, bytes)) or not isinstance(hidden, Iterable) or not list(hidden):
        raise ValueError(f"hidden = {hidden!r}: give the widths of the hidden layers, such as (128, 128).")
    return tuple(count(width, "hidden") for width in hidden)
