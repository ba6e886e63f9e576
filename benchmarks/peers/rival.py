"""What the comparison asks of a package: to train on pairs, to keep the network, and to draw in one or more ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers.case import Case


class Rival(ABC):
    """`name` is that of the network; `methods` are the ways to draw with it, the names in the table."""

    name: str
    methods: Sequence[str]
    samples = 1000  # for each dataset, at most: composed samplers are slow and get fewer

    def missing(self) -> str:
        """Why the package cannot be used on this machine; empty where it can."""
        return ""

    @abstractmethod
    def train(self, case: Case, folder: Path) -> float:
        """Leaves the network in `folder`; returns the CPU seconds, without those of the simulations."""

    @abstractmethod
    def draw(self, method: str, case: Case, folder: Path, n: int, samples: int) -> tuple[np.ndarray, float]:
        """Draws [B, samples, m] in latent space, given n observations of each dataset, and CPU seconds for all."""

    def skipped(self, method: str, case: Case, n: int) -> str:
        """Why this cell is not measured; empty where it is."""
        return ""


def save_network(network: Any, folder: Path) -> None:
    torch.save(network, folder / "network.pt")


def load_network(folder: Path) -> Any:
    """A file that this program wrote itself: it is unpickled as a whole."""
    return torch.load(folder / "network.pt", weights_only=False)


def stacked(draws: Sequence[np.ndarray | Tensor]) -> np.ndarray:
    return np.stack([np.asarray(dataset, dtype=np.float64) for dataset in draws])
