"""Checkpoints: a training that was killed continues from its last one and ends with the same bytes.

A checkpoint is one file with all tensors and counters, replaced in one move, so it is complete or it is not there.
It carries the name of its training (`training`: settings, seed, data, versions); one that belongs to another
training, or is damaged, is not used.
"""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from tallsbi.storage import files
from tallsbi.storage.tensors import read_tensors, write_tensors

FILE = "checkpoint.safetensors"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class State:
    """What a training needs to go on: tensors by name, and plain counters."""

    tensors: Mapping[str, Tensor]
    counters: Mapping[str, Any]


def save(folder: Path, training: str, state: State) -> None:
    """Replaces the checkpoint. A full disk costs the checkpoint, not the training."""
    header = {"training": training, "counters": dict(state.counters)}
    try:
        write_tensors(state.tensors, header, folder / FILE)
    except OSError as error:
        _log.warning("no checkpoint written to %s (%s); the training goes on", folder, error)


def load(folder: Path, training: str) -> State | None:
    """The checkpoint of this training; None if there is none, it is damaged or it belongs to another training."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        tensors, header = read_tensors(path)
        state = State(tensors, header["counters"])
        if header["training"] != training:
            _log.warning("%s belongs to a training with other settings or data; starting anew", path)
            return None
    except (files.DataError, KeyError, TypeError, OSError) as error:
        _log.warning("checkpoint not usable (%s); starting anew", error)
        return None
    return state


def discard(folder: Path) -> None:
    """Removes the folder of the checkpoint, once the result is safely written."""
    shutil.rmtree(folder, ignore_errors=True)
