"""A trained network on disk: one safetensors file that says everything needed to use it.

The weights are the tensors; architecture, normalisation, schedule, task and the facts of the training are
JSON in the file's header, so that weights and description cannot come apart. The same JSON is written next
to it (`name.json` for `name.safetensors`) for people to read; nothing reads it back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.schedule import Schedule
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.normaliser import Normaliser
from tallsbi.storage import files
from tallsbi.storage.tensors import read_tensors, write_tensors

_WEIGHTS, _LOSSES = "network.", "validation_losses"


@dataclass(frozen=True, eq=False)
class SavedNetwork:
    """A network with what it takes to use it, and the loss of each validation row (for model selection)."""

    network: ScoreNetwork
    normaliser: Normaliser
    schedule: Schedule
    task: str
    validation_losses: Float[Tensor, "V"]
    facts: dict[str, Any] = field(default_factory=dict)

    def cpu(self) -> SavedNetwork:
        """The same on the CPU, wherever it was trained."""
        if self.validation_losses.device.type == "cpu":
            return self
        moved: dict[str, Any] = {
            name: v.cpu() if isinstance(v, Tensor) else v for name, v in vars(self.normaliser).items()
        }
        network, losses = self.network.cpu(), self.validation_losses.cpu()
        return replace(self, network=network, normaliser=Normaliser(**moved), validation_losses=losses)


def sidecar(path: str | Path) -> Path:
    """Where the readable copy of the description lies."""
    return Path(path).with_suffix(".json")


def write_network(saved: SavedNetwork, path: str | Path) -> None:
    """Writes the file and its readable description; equal networks give equal bytes."""
    description = {
        "architecture": saved.network.architecture.to_json(),
        "dtype": str(next(saved.network.parameters()).dtype).removeprefix("torch."),
        "normaliser": saved.normaliser.to_json(),
        "schedule": asdict(saved.schedule),
        "task": saved.task,
        "training": saved.facts,
    }
    tensors = {f"{_WEIGHTS}{name}": tensor for name, tensor in saved.network.state_dict().items()}
    tensors[_LOSSES] = saved.validation_losses
    files.write_json(description, sidecar(path))
    write_tensors(tensors, description, path)


def build_network(architecture: Mapping[str, Any]) -> ScoreNetwork:
    """The network of a description, its weights still to be loaded."""
    return ScoreNetwork(Architecture.from_json(architecture))


def read_network(
    path: str | Path,
    device: torch.device | str = "cpu",
    build: Callable[[Mapping[str, Any]], ScoreNetwork] = build_network,
) -> SavedNetwork:
    """Reads what `write_network` wrote; a file that is not whole gives a `DataError`.

    `build` makes the network of the description, for networks of another kind.
    """
    tensors, description = read_tensors(path)
    try:
        network = build(description["architecture"])
        network.to(getattr(torch, description["dtype"]))
        weights = {
            name.removeprefix(_WEIGHTS): tensor
            for name, tensor in tensors.items()
            if name.startswith(_WEIGHTS)
        }
        network.load_state_dict(weights)
        return SavedNetwork(
            network=network.to(device).requires_grad_(False),
            normaliser=Normaliser.from_json(description["normaliser"]),
            schedule=Schedule(**description["schedule"]),
            task=description["task"],
            validation_losses=tensors[_LOSSES],
            facts=description["training"],
        )
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise files.DataError(f"{path} does not describe a network ({error}): delete it and rerun") from error
