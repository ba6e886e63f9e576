"""Priors made again from what `Prior.to_json` wrote. Names are looked up in tables: no code of a file is run."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, distributions

from tallsbi.priors.base import Prior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import COORDINATES, ClosedForm, Marginals
from tallsbi.priors.pushed import Blocks, Transformed, transform_from_json
from tallsbi.priors.quantiles import Quantiles
from tallsbi.priors.uniform import Uniform

_KINDS: Mapping[str, type[Prior]] = {"Gaussian": Gaussian, "LogNormal": LogNormal, "Uniform": Uniform}


def to_json(prior: Prior) -> dict[str, Any]:
    """The prior with the names of its coordinates."""
    return prior.to_json() | ({} if prior.names is None else {"names": list(prior.names)})


def from_json(description: Mapping[str, Any]) -> Prior:
    """The prior `to_json` described; KeyError, TypeError or ValueError for anything else."""
    names = description.get("names")
    prior = _unnamed({key: value for key, value in description.items() if key != "names"})
    return prior if names is None else prior.named([str(name) for name in names])


def _unnamed(description: Mapping[str, Any]) -> Prior:
    kind = description["kind"]
    if kind == "Marginals":
        return Marginals(
            [_coordinate(part) for part in description["coordinates"]], description.get("correlation")
        )
    if kind == "Transformed":
        return Transformed(from_json(description["base"]), transform_from_json(description["transform"]))
    if kind == "Blocks":
        return Blocks([from_json(part) for part in description["parts"]])
    if kind not in _KINDS:
        raise ValueError(f"there is no prior {kind!r}")
    return _KINDS[kind](**_tensors(description))


def _coordinate(description: Mapping[str, Any]) -> ClosedForm | Quantiles:
    kind = description["kind"]
    if kind == "Quantiles":
        return Quantiles.from_json(description)
    if kind not in COORDINATES:
        raise ValueError(f"there is no coordinate {kind!r}")
    return ClosedForm(getattr(distributions, kind)(**_tensors(description)))


def _tensors(description: Mapping[str, Any]) -> dict[str, Tensor]:
    dtype = {"float32": torch.float32, "float64": torch.float64}[description["dtype"]]
    return {
        key: torch.tensor(value, dtype=dtype)
        for key, value in description.items()
        if key not in ("kind", "dtype")
    }
