"""Which of the trained networks is used: learning rate and batch size (appendix F of the paper).

`published`: the choice of the published runs, which the caller knows. `stated`: the lowest best validation loss; among
those that are as good within noise, the one whose best epoch came last, since it had the slower and smoother
descent. All candidates are judged on the same held-out rows, times and noises, so that noise means the
standard error of the paired differences to the best one, row by row.

Nothing here needs torch: a file's header and its losses say all there is to know.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from tallsbi.storage.tensors import read_tensors

LOSSES = "validation_losses"  # as `tallsbi.scores.network_file` names them


@dataclass(frozen=True, eq=False)
class Candidate:
    """One trained network: its settings, its best epoch, and the loss of each held-out row."""

    learning_rate: float
    batch_size: int
    best_epoch: int
    losses: Float[np.ndarray, "V"]

    @classmethod
    def read(cls, path: str | Path) -> Candidate:
        """Reads a candidate from the file of a trained network."""
        tensors, description = read_tensors(path, "np", frozenset([LOSSES]))
        facts = description["training"]
        return cls(
            learning_rate=facts["settings"]["learning_rate"],
            batch_size=facts["settings"]["batch_size"],
            best_epoch=facts["best_epoch"],
            losses=tensors[LOSSES],
        )

    @property
    def loss(self) -> float:
        return float(self.losses.mean(dtype=np.float64))

    @property
    def label(self) -> str:
        return f"learning rate {self.learning_rate:g}, batch size {self.batch_size}"


def select_published(task: str, learning_rate: float, batch_size: int) -> dict[str, Any]:
    """The choice of the published runs, whatever the losses are."""
    return {
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "rule": "published",
        "reason": f"published choice for {task}",
    }


def select_stated(candidates: Sequence[Candidate], tolerance: float = 1.0) -> dict[str, Any]:
    """The best candidate by validation loss, and why; `tolerance` counts standard errors that make a tie."""
    if not candidates:
        raise ValueError("no candidates to select from: give at least one trained network.")
    lengths = {len(candidate.losses) for candidate in candidates}
    if len(lengths) > 1:
        raise ValueError(
            f"the candidates hold out {sorted(lengths)} rows: only trainings on the same data compare."
        )
    # Sorted, so that the result does not depend on the order of the candidates.
    ordered = sorted(candidates, key=lambda c: (c.loss, c.learning_rate, c.batch_size))
    lowest = ordered[0]
    tied = [
        c for c in ordered if c.loss - lowest.loss <= tolerance * standard_error(c.losses - lowest.losses)
    ]
    chosen = max(tied, key=lambda c: c.best_epoch)
    if len(tied) == 1:
        reason = "lowest validation loss"
    else:
        others = "; ".join(c.label for c in tied if c is not chosen)
        reason = f"latest best epoch ({chosen.best_epoch}) among those equal within noise: {others}"
    return {
        "learning_rate": chosen.learning_rate,
        "batch_size": chosen.batch_size,
        "rule": "stated",
        "reason": reason,
        "candidates": [
            {
                "learning_rate": c.learning_rate,
                "batch_size": c.batch_size,
                "validation_loss": c.loss,
                "difference": c.loss - lowest.loss,
                "standard_error": standard_error(c.losses - lowest.losses),
                "best_epoch": c.best_epoch,
            }
            for c in sorted(ordered, key=lambda c: (c.learning_rate, c.batch_size))
        ],
    }


def standard_error(values: Float[np.ndarray, "V"]) -> float:
    """The standard error of the mean; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    return float(values.astype(np.float64).std(ddof=1)) / math.sqrt(len(values))
