"""Posteriors whose network is a module of the user's or of sbi, on disk without pickle.

The folder has the files of any posterior: the weights (`network.safetensors`) and the rest (`posterior.safetensors`).
The module itself is code, which is never stored: whoever loads gives it, built the same way, and the weights are put
into it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

import tallsbi
from tallsbi.api.files import NETWORK, POSTERIOR
from tallsbi.api.horizon import Horizon
from tallsbi.api.module_score import ModuleEngine
from tallsbi.api.sbi_score import SbiEngine, unpacked
from tallsbi.api.training_range import TrainingRange
from tallsbi.priors.description import from_json, to_json
from tallsbi.schedule import Schedule
from tallsbi.storage.files import DataError, digest
from tallsbi.storage.tensors import read_tensors, write_tensors

_FORMAT = "tallsbi foreign posterior 1"


def is_foreign(folder: str | Path) -> bool:
    path = Path(folder) / POSTERIOR
    if not path.is_file():
        return False
    try:
        header = read_tensors(path)[1]
    except DataError:
        return False  # `files.load` says what is wrong
    return isinstance(header, dict) and header.get("format") == _FORMAT


def save(
    folder: str | Path,
    engine: ModuleEngine | SbiEngine,
    training_range: TrainingRange | None,
    horizons: Mapping[str, Horizon],
) -> None:
    folder = Path(folder)
    if folder.is_file():
        raise FileExistsError(f"{folder} is a file; give the name of a folder.")
    sbi = isinstance(engine, SbiEngine)
    network = engine.score.original if isinstance(engine, SbiEngine) else engine.score.network
    header = {
        "format": _FORMAT,
        "version": tallsbi.__version__,
        "source": "sbi" if sbi else "network",
        "class": type(network).__name__,
        "prior": to_json(engine.prior),
        "farthest": None if training_range is None else training_range.farthest,
        "horizons": {method: horizon.to_json() for method, horizon in horizons.items()},
        "options": {} if isinstance(engine, SbiEngine) else engine.options(),
    }
    tensors: dict[str, Tensor] = {} if training_range is None else training_range.tensors()
    if isinstance(engine, ModuleEngine):
        tensors |= {f"moments.{name}": value for name, value in engine.moments.items()}
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(network.state_dict(), {"class": type(network).__name__}, folder / NETWORK)
    header["network"] = digest((folder / NETWORK).read_bytes())
    write_tensors(tensors, header, folder / POSTERIOR)


def load(
    folder: str | Path, network: Any, schedule: Any
) -> tuple[ModuleEngine | SbiEngine, TrainingRange | None, dict[str, Horizon]]:
    folder = Path(folder)
    tensors, header = read_tensors(folder / POSTERIOR)
    if not (folder / NETWORK).is_file() or digest((folder / NETWORK).read_bytes()) != header["network"]:
        raise DataError(
            f"{folder / NETWORK} is missing, damaged or belongs to another posterior; save it again."
        )
    if network is None:
        what = (
            "the estimator built by sbi in the same way"
            if header["source"] == "sbi"
            else "a network of that class"
        )
        raise ValueError(
            f"{folder} holds the weights of a {header['class']}, and code is never stored: give {what}, "
            "untrained or not, as TallPosterior.load(folder, network=...)."
        )
    module = copy.deepcopy(unpacked(network)[0])
    if isinstance(module, nn.Module):
        _load_weights(module, read_tensors(folder / NETWORK)[0], folder)
    prior = from_json(header["prior"])
    training_range = None
    if header["farthest"] is not None:
        training_range = TrainingRange.restored(tensors, float(header["farthest"]))
    horizons = {method: Horizon.from_json(plain) for method, plain in header.get("horizons", {}).items()}
    if header["source"] == "sbi":
        return SbiEngine.of(module, prior), training_range, horizons
    options = dict(header["options"])
    if options["schedule"] is None and schedule is None:
        raise ValueError(
            f"{folder}: the network was given with functions (mean, std) of time, and code is never stored; give them "
            "again, as TallPosterior.load(folder, network=..., schedule=(mean, std))."
        )
    if options["schedule"] is not None:
        schedule = Schedule(**options["schedule"])
    moments = {name.removeprefix("moments."): v for name, v in tensors.items() if name.startswith("moments.")}
    shape = tuple(options.pop("x_shape"))
    engine = ModuleEngine.of(module, prior, shape, **(options | {"schedule": schedule}), **moments)
    return engine, training_range, horizons


def _load_weights(module: nn.Module, weights: dict[str, Tensor], folder: Path) -> None:
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise DataError(
            f"the weights in {folder / NETWORK} do not fit the {type(module).__name__} given ({error}); build it "
            "with the same sizes as the one that was saved."
        ) from error
