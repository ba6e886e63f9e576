"""Priors made again from what `Prior.to_json` wrote. Names are looked up in tables: no code of a file is run."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, distributions

from tallsbi.priors.base import Prior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import COORDINATES, Marginals
from tallsbi.priors.uniform import Uniform

_KINDS: Mapping[str, type[Prior]] = {"Gaussian": Gaussian, "LogNormal": LogNormal, "Uniform": Uniform}


def from_json(description: Mapping[str, Any]) -> Prior:
    """The prior `to_json` described; KeyError, TypeError or ValueError for anything else."""
    kind = description["kind"]
    if kind == "Marginals":
        return Marginals([_coordinate(part) for part in description["coordinates"]])
    if kind not in _KINDS:
        raise ValueError(f"there is no prior {kind!r}")
    return _KINDS[kind](**_tensors(description))


def _coordinate(description: Mapping[str, Any]) -> distributions.Distribution:
    if description["kind"] not in COORDINATES:
        raise ValueError(f"there is no coordinate {description['kind']!r}")
    return getattr(distributions, description["kind"])(**_tensors(description))


def _tensors(description: Mapping[str, Any]) -> dict[str, Tensor]:
    dtype = {"float32": torch.float32, "float64": torch.float64}[description["dtype"]]
    return {
        key: torch.tensor(value, dtype=dtype)
        for key, value in description.items()
        if key not in ("kind", "dtype")
    }
