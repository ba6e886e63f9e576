"""From observations as users have them to the rows the network sees.

    [numbers of the observation, missing ones filled in | flags of missing numbers | condition]

An observation may have any shape; its row is flat. A number that is missing (a failed simulation, a shorter
series) is filled with its mean over the simulations that have it, and a flag is 1 where it is missing. Numbers that
are always missing together share a flag. A condition is known and not modelled, such as a dose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tallsbi.api import inputs
from tallsbi.api.chunks import stacked
from tallsbi.api.inputs import as_tensor
from tallsbi.shapes import Observations


@dataclass(frozen=True, eq=False)
class Layout:
    """`shape` of an observation; `flags`: for each of its numbers the flag that says it is missing, -1 for none.

    `condition`: how many numbers it has. `fill`: what stands for missing numbers. `failures`: what a failed simulation
    is, "raise", "drop" or "flag" (see `TallPosterior.fit`). `log_x`: the numbers are replaced by their logarithms here,
    not by the normaliser, which would take those of all columns.
    """

    shape: tuple[int, ...]
    condition: int = 0
    failures: str = "raise"
    flags: tuple[int, ...] = ()
    fill: Float[Tensor, "D"] | None = None
    log_x: bool = False

    @property
    def numbers(self) -> int:
        return math.prod(self.shape)

    @property
    def columns(self) -> int:
        """Of an observation with its condition, as a user gives it."""
        return self.numbers + self.condition

    @property
    def flag_count(self) -> int:
        return max(self.flags, default=-1) + 1

    @classmethod
    def of(
        cls,
        x: Float[Tensor, "N ..."],
        missing: Bool[Tensor, "N D"],
        *,
        condition: int = 0,
        failures: str = "raise",
        by_step: bool = False,
        log_x: bool = False,
    ) -> Layout:
        """The layout of a training; `by_step`: one flag for every entry of the first axis, for embeddings."""
        shape = tuple(x.shape[1:])
        flat = x.flatten(1).double()
        flags: tuple[int, ...] = ()
        if bool(missing.any()):
            flags = _flags_by_step(missing, shape) if by_step else _shared_flags(missing)
        mean = torch.where(missing, 0.0, flat).sum(0) / (~missing).sum(0).clamp_min(1)
        log_here = log_x and (bool(flags) or condition > 0 or by_step)
        return cls(shape, condition, failures, flags, mean if flags else None, log_here)

    def rows(self, flat: Float[Tensor, "*b c"], name: str = "x_obs") -> Float[Tensor, "*b k"]:
        """Rows of the network from flat observations, each followed by its condition; NaN is missing."""
        x, condition = flat[..., : self.numbers], flat[..., self.numbers :]
        missing = ~x.isfinite()
        flags = torch.tensor(self.flags, dtype=torch.long) if self.flags else torch.full((self.numbers,), -1)
        unexpected = missing & (flags < 0)
        if bool(unexpected.any()) or not bool(condition.isfinite().all()):
            raise ValueError(inputs.not_finite(flat, name))
        if self.flags:
            fill = self.fill if self.fill is not None else torch.zeros(self.numbers)
            x = torch.where(missing, fill.to(x), x)
        parts = [self._log(x, name) if self.log_x else x]
        for flag in range(self.flag_count):
            parts.append(missing[..., flags == flag].any(-1, keepdim=True).to(x))
        return torch.cat([*parts, condition], dim=-1)

    @staticmethod
    def _log(x: Tensor, name: str) -> Tensor:
        if not bool((x > 0).all()):
            raise ValueError(
                f"{name}: log_x = True, but an observation has the value {float(x.min()):g}; only positive "
                "observations have a logarithm."
            )
        return x.log()

    def flat(self, x: Any, name: str = "x_obs") -> Float[Tensor, "*b c"]:
        """[n, D + c] or [B, n, D + c], of the right shape; NaN where numbers are missing."""
        if self.condition and isinstance(x, tuple) and len(x) == 2:
            return self._with_condition(*x, name)
        return self._flat(x, name)

    def datasets(self, x: Any, name: str = "x_obs") -> Observed:
        """The rows of one dataset or of several, each value checked; datasets of one n stand together."""
        if self.condition and isinstance(x, tuple) and len(x) == 2:
            return self.datasets(self._with_condition(*x, name), name)
        depth, axes = _depth(x), len(self.shape)
        several = depth == axes + 2 and isinstance(x, (list, tuple))
        if several and len({_length(dataset) for dataset in x}) > 1:
            groups = [self.datasets(dataset, f"{name}[{i}]").groups[0] for i, dataset in enumerate(x)]
            return Observed(groups, _list_of_datasets)
        rows = self.rows(self._flat(x, name), name)
        if rows.ndim == 3:
            return Observed([rows], _all_datasets)
        return Observed([rows[None]], _single_dataset)

    def _with_condition(self, x: Any, condition: Any, name: str) -> Float[Tensor, "*b c"]:
        flat = self._flat(x, name, self.numbers)
        known = as_tensor(condition, f"the condition of {name}").double()
        if tuple(known.shape) != (*flat.shape[:-1], self.condition):
            raise ValueError(
                f"the condition of {name} has shape {tuple(known.shape)}; for observations {tuple(flat.shape[:-1])} "
                f"and a condition of {self.condition} numbers each, give {(*flat.shape[:-1], self.condition)}."
            )
        return torch.cat([flat, known], dim=-1)

    def one_dataset(self, x: Any, n: int, caller: str = "the local test") -> Observations:
        """The rows of a single dataset [1, n, k] of n observations; `caller` is named in the error message."""
        groups = self.datasets(x).groups
        if len(groups) > 1 or groups[0].shape[:2] != (1, n):
            given = (
                "are datasets of different n" if len(groups) > 1 else f"has shape {tuple(groups[0].shape)}"
            )
            raise ValueError(
                f"x_obs {given}; {caller} looks at one dataset of n = {n} observations, [{n}, {self.columns}]."
            )
        return groups[0]

    def _flat(self, x: Any, name: str, columns: int | None = None) -> Float[Tensor, "*b c"]:
        """[n, D] or [B, n, D], of the right shape and not empty."""
        if isinstance(x, (list, tuple)):
            x = self._padded(x, name)
        x = as_tensor(x, name).double()
        axes, columns = len(self.shape), columns or self.columns
        if axes > 1 and x.shape[-1:] != (columns,):
            if x.ndim not in (axes + 1, axes + 2) or tuple(x.shape[-axes:]) != self.shape:
                shape = ", ".join(map(str, self.shape))
                hint = f"; one observation is {name}[None]" if tuple(x.shape) == self.shape else ""
                if self.flags and tuple(x.shape[1 - axes :]) == self.shape[1:]:
                    hint = f"; shorter ones are a list of arrays, and a single one is [{name}]"
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)}: the network was trained on observations of shape ({shape}); "
                    f"give n of one dataset, [n, {shape}], or of B datasets, [B, n, {shape}]{hint}."
                )
            x = x.flatten(-axes)
            if columns > self.numbers:
                raise ValueError(self._without_condition(name))
            inputs.not_empty(x, name)
            return x
        if columns > self.numbers and x.ndim in (2, 3) and x.shape[-1] == self.numbers:
            raise ValueError(self._without_condition(name))
        return inputs.shaped(x, columns, name)

    def _without_condition(self, name: str) -> str:
        return (
            f"{name} has no condition: give a tuple (x, condition), with {self.condition} known numbers for each "
            "observation."
        )

    def _padded(self, x: Any, name: str) -> Any:
        """Observations of different lengths, as long as the longest simulated one."""
        if _depth(x) == len(self.shape) + 2:
            parts = [self._padded(part, f"{name}[{i}]") for i, part in enumerate(x)]
            return torch.stack(parts) if any(isinstance(part, Tensor) for part in parts) else x
        if not isinstance(x, (list, tuple)) or _depth(x) < 2 or not self.flags:
            return x
        if {_length(row) for row in x} == {self.shape[0]}:
            return x
        rows = stacked([as_tensor(row, name).numpy() for row in x], name).x
        if rows.shape[1] > self.shape[0] or rows.shape[2:] != self.shape[1:]:
            reason = "the network knows none that are longer"
            if rows.shape[2:] != self.shape[1:]:
                reason = "only the length of the first axis may be another"
            raise ValueError(
                f"{name}: an observation has shape {tuple(rows.shape[1:])}; the longest simulated one has "
                f"{self.shape}, and {reason}."
            )
        padded = torch.full((len(rows), *self.shape), torch.nan)
        padded[:, : rows.shape[1]] = rows
        return padded

    def to_json(self) -> dict[str, Any]:
        names = ("shape", "condition", "failures", "flags", "log_x")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], fill: Tensor | None) -> Layout:
        fields = {**values, "shape": tuple(values["shape"]), "flags": tuple(values["flags"])}
        return cls(**fields, fill=fill)


@dataclass(frozen=True, eq=False)
class Observed:
    """Rows of datasets, those of one n together; `hand_back` gives their draws the form that the user expects."""

    groups: list[Tensor]  # each [B, n, k], with an n of its own
    hand_back: Callable[[list[Tensor]], Any]


def _all_datasets(draws: list[Tensor]) -> Tensor:
    return draws[0]


def _single_dataset(draws: list[Tensor]) -> Tensor:
    return draws[0][0]


def _list_of_datasets(draws: list[Tensor]) -> list[Tensor]:
    return [theta[0] for theta in draws]


def _flags_by_step(missing: Bool[Tensor, "N D"], shape: tuple[int, ...]) -> tuple[int, ...]:
    """A flag for each entry of the first axis, or for each number where parts of an entry can be missing."""
    steps = missing.unflatten(1, (shape[0], -1))
    per_step = steps.shape[2]
    if bool((steps.any(2) == steps.all(2)).all()):
        return tuple(i // per_step for i in range(missing.shape[1]))
    return tuple(range(missing.shape[1]))


def _shared_flags(missing: Bool[Tensor, "N D"]) -> tuple[int, ...]:
    """Equal columns share a flag, numbered in the order in which they come."""
    flag_of_column: dict[bytes, int] = {}
    flags = []
    for column in missing.mT.contiguous().numpy():
        new_flag = len(flag_of_column)
        flags.append(flag_of_column.setdefault(column.tobytes(), new_flag) if column.any() else -1)
    return tuple(flags)


def _depth(x: Any) -> int:
    """The number of axes of arrays, lists of arrays and nested lists."""
    if isinstance(x, (list, tuple)):
        return 1 + max((_depth(part) for part in x[:1]), default=0)
    return int(getattr(x, "ndim", 0))


def _length(x: Any) -> int:
    return len(x) if _depth(x) else 0
