"""A posterior on disk: a folder with the network (`network.safetensors`) and the rest (`posterior.safetensors`).

The second file holds the prior, the training range and the digest of the first, so that files of two posteriors
are not taken for one. No code is stored and none is run when a file is read.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import tallsbi
from tallsbi.api.engine import NetworkEngine
from tallsbi.api.horizon import Horizon
from tallsbi.api.layout import Layout
from tallsbi.api.training_range import TrainingRange
from tallsbi.priors.description import from_json, to_json
from tallsbi.scores.embedded_network import build
from tallsbi.scores.network_file import read_network, write_network
from tallsbi.storage.files import DataError, digest
from tallsbi.storage.tensors import read_tensors, write_tensors
from tallsbi.summaries.likelihood import SummaryLikelihood

NETWORK, POSTERIOR = "network.safetensors", "posterior.safetensors"
_FORMAT = "tallsbi posterior 1"
_COVARIANCE, _FILL, _CONDITIONS = "learned_covariance", "layout.fill", "conditions"
_SUMMARIES_PREFIX = "summaries."
_DTYPES = {"float32": torch.float32, "float64": torch.float64}


def save(
    folder: str | Path,
    engine: NetworkEngine,
    training_range: TrainingRange | None,
    layout: Layout,
    conditions: Tensor | None,
    horizons: Mapping[str, Horizon],
) -> None:
    folder = Path(folder)
    if folder.is_file():
        raise FileExistsError(f"{folder} is a file; give the name of a folder.")
    header = {
        "format": _FORMAT,
        "version": tallsbi.__version__,
        "prior": to_json(engine.prior),
        "bounds_factor": engine.bounds_factor,
        "dtype": str(engine.dtype).removeprefix("torch."),
        "precision": engine.precision,
        "farthest": None if training_range is None else training_range.farthest,
        "layout": layout.to_json(),
        "horizons": {method: horizon.to_json() for method, horizon in horizons.items()},
    }
    tensors = {} if training_range is None else training_range.tensors()
    if engine.learned_covariance is not None:
        tensors[_COVARIANCE] = engine.learned_covariance
    if engine.summaries is not None:
        learnt, header["summaries"] = engine.summaries.tensors()
        tensors |= {f"{_SUMMARIES_PREFIX}{name}": tensor for name, tensor in learnt.items()}
    for name, values in ((_FILL, layout.fill), (_CONDITIONS, conditions)):
        if values is not None and values.numel():
            tensors[name] = values
    folder.mkdir(parents=True, exist_ok=True)
    write_network(engine.saved, folder / NETWORK)
    header["network"] = _digest(folder / NETWORK)
    write_tensors(tensors, header, folder / POSTERIOR)


def load(
    folder: str | Path, embedding: Any = None
) -> tuple[NetworkEngine, TrainingRange | None, Layout, Tensor | None, dict[str, Horizon]]:
    folder = Path(folder)
    missing = [name for name in (POSTERIOR, NETWORK) if not (folder / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} is not a saved posterior: it has no {' and no '.join(missing)}; give the folder that "
            "`save` wrote."
        )
    try:
        tensors, header = read_tensors(folder / POSTERIOR)
        if not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise DataError(f"{folder / POSTERIOR} is not in the format {_FORMAT!r}")
        if header["network"] != _digest(folder / NETWORK):
            raise DataError(f"{folder / NETWORK} is damaged or belongs to another posterior")
        engine = NetworkEngine(
            read_network(folder / NETWORK, build=partial(build, module=embedding)),
            from_json(header["prior"]),
            # Files of version 0.1.0 do not have these.
            bounds_factor=float(header.get("bounds_factor", 1.0)),
            dtype=_DTYPES[header.get("dtype", "float32")],
            learned_covariance=tensors.pop(_COVARIANCE, None),
            summaries=_summaries(tensors, header.get("summaries")),
            precision=str(header.get("precision", "float32")),
        )
        training_range = None
        if header["farthest"] is not None:
            training_range = TrainingRange.restored(tensors, float(header["farthest"]))
        layout = Layout((len(engine.saved.normaliser.x_mean),))
        if "layout" in header:
            layout = Layout.from_json(header["layout"], tensors.get(_FILL))
        horizons = {method: Horizon.from_json(plain) for method, plain in header.get("horizons", {}).items()}
        return engine, training_range, layout, tensors.get(_CONDITIONS), horizons
    except (KeyError, TypeError, ValueError) as error:
        reason = str(error).removesuffix(": delete it and rerun")
        raise DataError(f"cannot load {folder}: {reason}; save the posterior again.") from error


def _summaries(tensors: dict[str, Tensor], header: dict[str, Any] | None) -> SummaryLikelihood | None:
    names = [name for name in tensors if name.startswith(_SUMMARIES_PREFIX)]
    learnt = {name.removeprefix(_SUMMARIES_PREFIX): tensors.pop(name) for name in names}
    return None if header is None else SummaryLikelihood.restored(learnt, header)


def _digest(path: Path) -> str:
    return digest(path.read_bytes())
