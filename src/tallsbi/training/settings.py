"""What a training run depends on besides its data (appendix E of the paper).

`published`: the final averaged weights after all epochs (early_stopping False). `stated`: the averaged weights
at the lowest validation loss, stopped when it has not improved for `patience` epochs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tallsbi.storage.plain import from_json, to_json

if TYPE_CHECKING:
    from tallsbi.scores.network import Architecture

_WARM_UP = 0.02  # of a training whose learning rate falls


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Optimiser, budget, validation and stopping, and the sizes of the network.

    `validate_every` counts epochs between validations, `validation_draws` the noise draws per held-out row.
    `drop_context` is the share of rows that train the prior's score instead (see `tallsbi.scores.context`).
    With `decay` the learning rate falls from `learning_rate` to zero over all `epochs`; in the paper it does not.
    """

    learning_rate: float = 1e-4
    decay: bool = False
    batch_size: int = 256
    epochs: int = 5000
    ema_decay: float = 0.999
    validation_share: float = 0.2
    validation_draws: int = 4
    validate_every: int = 5
    early_stopping: bool = False
    patience: int = 500
    min_epochs: int = 100
    hidden: tuple[int, ...] = (256, 256, 256)
    frequencies: int = 3
    layer_norm: bool = False
    theta_embedding: tuple[int, ...] = ()
    x_embedding: tuple[int, ...] = ()
    drop_context: float = 0.0

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "validation_draws", "validate_every", "patience"):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        self._require("min_epochs", self.min_epochs >= 0, "at least 0")
        self._require("learning_rate", self.learning_rate > 0, "positive")
        self._require("ema_decay", 0 <= self.ema_decay < 1, "in [0, 1)")
        self._require("drop_context", 0 <= self.drop_context < 1, "in [0, 1)")
        self._require("validation_share", 0 < self.validation_share < 1, "between 0 and 1")

    def _require(self, name: str, met: bool, condition: str) -> None:
        if not met:
            raise ValueError(f"training.{name} = {getattr(self, name)!r}: it must be {condition}.")

    def rate(self, progress: float) -> float:
        """The learning rate when this share of the training is done."""
        if not self.decay:
            return self.learning_rate
        warm_up = min(1.0, progress / _WARM_UP)
        return self.learning_rate * warm_up * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))

    def architecture(self, theta_dim: int, x_dim: int) -> Architecture:
        # Imported here: the workflow reads settings each time it starts, and must not wait for torch.
        from tallsbi.scores.network import Architecture

        return Architecture(
            theta_dim=theta_dim,
            x_dim=x_dim + bool(self.drop_context),
            hidden=self.hidden,
            frequencies=self.frequencies,
            layer_norm=self.layer_norm,
            theta_embedding=self.theta_embedding,
            x_embedding=self.x_embedding,
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TrainingSettings:
        """From a section of the configuration; what it leaves out keeps its default."""
        return from_json(cls, values, "training")

    def to_json(self) -> dict[str, Any]:
        return to_json(self)
