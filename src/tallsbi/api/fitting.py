"""`TallPosterior.fit`: simulate, train, and keep what it takes to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallsbi.api import inputs, pairs
from tallsbi.api.drawing import bar
from tallsbi.api.engine import NetworkEngine
from tallsbi.api.priors import as_prior
from tallsbi.api.training_range import TrainingRange
from tallsbi.random import integer_seed
from tallsbi.schedule import NETWORK
from tallsbi.training.loop import train
from tallsbi.training.settings import TrainingSettings

if TYPE_CHECKING:
    from tallsbi.api.posterior import TallPosterior


def fit(
    cls: type[TallPosterior],
    prior: Any,
    source: Any,
    *,
    simulations: int = 10_000,
    epochs: int = 1000,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    hidden: Sequence[int] = (128, 128, 128),
    early_stopping: bool = True,
    patience: int = 100,
    validation_share: float = 0.1,
    layer_norm: bool = False,
    log_x: bool = False,
    seed: int = 0,
    checkpoint_dir: str | Path | None = None,
    progress: bool = False,
) -> TallPosterior:
    """Trains the score network on single observations.

    `source`: a simulator, a function from parameters [N, m] (a float32 tensor) to one observation each, [N, d],
    which is called once with `simulations` draws of the prior; or a pair (theta [N, m], x [N, d]) drawn from
    the prior and the simulator. `prior`: see `tallsbi.api.priors`.

    With `early_stopping` training ends when the validation loss has not improved for `patience` epochs, and
    the best network is kept; without, it runs for all `epochs` and keeps the last. `log_x`: observations are
    positive and standardised in log space. `checkpoint_dir`: where an interrupted training is taken up again.
    The same seed gives the same network, also where the simulator draws from torch's or numpy's global stream.
    """
    prior = as_prior(prior)
    # All that can be wrong is found before the simulator runs, which may take hours.
    settings = TrainingSettings(
        learning_rate=learning_rate,
        batch_size=inputs.count(batch_size, "batch_size"),
        epochs=inputs.count(epochs, "epochs"),
        early_stopping=early_stopping,
        patience=inputs.count(patience, "patience"),
        min_epochs=min(patience, epochs),
        validation_share=validation_share,
        hidden=inputs.widths(hidden),
        layer_norm=layer_norm,
    )
    theta, x = pairs.training_pairs(prior, source, simulations, seed)
    settings = replace(settings, ema_decay=_decay(len(theta), batch_size))
    trained = train(
        prior.to_latent(theta),
        x,
        settings,
        NETWORK,
        seed=integer_seed(seed, "api", "training"),
        log_x=log_x,
        checkpoint_dir=None if checkpoint_dir is None else Path(checkpoint_dir),
        progress=bar("training") if progress else iter,
    )
    engine = NetworkEngine(trained.saved("api"), prior)
    return cls(engine, x.shape[1], TrainingRange.of(engine.scaled(x.double())), trained.losses)


def _decay(rows: int, batch_size: int) -> float:
    """Weights averaged over about ten epochs, a thousand steps at most: short trainings must not lag behind."""
    return min(0.999, 1 - 0.1 / max(1, rows // batch_size))
