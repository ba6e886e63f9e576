"""`TallPosterior.fit`: simulate, train, and keep what it takes to draw."""

from __future__ import annotations

import inspect
import math
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallsbi.api import habits, inputs
from tallsbi.api.budget import Budget, free, seconds_of
from tallsbi.api.devices import device_of, precision_of
from tallsbi.api.drawing import bar
from tallsbi.api.engine import NetworkEngine
from tallsbi.api.horizon import HORIZON_SHARE, checked_share, measure_after_fit
from tallsbi.api.pairs import training_pairs
from tallsbi.api.priors import as_prior
from tallsbi.api.repeats import REPEATS_SHARE, with_repeats
from tallsbi.api.simulation import Calling
from tallsbi.api.training_range import TrainingRange
from tallsbi.random import integer_seed
from tallsbi.schedule import NETWORK
from tallsbi.scores.embeddings import described
from tallsbi.scores.precision import FLOAT32
from tallsbi.summaries.likelihood import EPOCHS as SUMMARY_EPOCHS
from tallsbi.summaries.likelihood import SummaryLikelihood
from tallsbi.training.embedded import embedded_run
from tallsbi.training.loop import Run, finish, new_run
from tallsbi.training.settings import TrainingSettings

if TYPE_CHECKING:
    from tallsbi.api.posterior import TallPosterior

_KEPT_CONDITIONS = 1000  # of the training, to simulate with later
_TRAINING_SHARE = 0.6  # of what simulating leaves of a budget: summaries follow
_CHECKPOINT_SECONDS = 60.0
_EPOCHS, _EPOCHS_FOR = 100, 20_000  # so many epochs for so many simulations (docs/research.md)
_FEWEST_EPOCHS, _MOST_EPOCHS = 20, 1000


def fit(
    cls: type[TallPosterior],
    prior: Any,
    source: Any,
    *,
    simulations: int = 10_000,
    epochs: int | None = None,
    batch_size: int = 128,
    learning_rate: float = 4e-3,
    hidden: Sequence[int] = (128, 128, 128),
    early_stopping: bool = True,
    patience: int = 100,
    validation_share: float = 0.1,
    layer_norm: bool = False,
    log_x: bool = False,
    summaries: bool = True,
    budget: Any = None,
    seed: int = 0,
    embedding: Any = None,
    batched: bool | None = None,
    on_failure: str = "raise",
    condition: Any = None,
    chunk_size: int | None = None,
    workers: int = 1,
    checkpoint_dir: str | Path | None = None,
    horizon: float | None = None,
    progress: bool | None = None,
    device: Any = "cpu",
    precision: str = FLOAT32,
    **others: Any,
) -> TallPosterior:
    """Trains the score network on single observations.

    `source`: a simulator, a function from parameters [N, m] (a float32 tensor) to one observation each, [N, d], or
    with `batched=False` from one parameter vector [m] to one observation; or a pair (theta [N, m], x [N, d]) drawn from
    the prior and the simulator. `prior`: see `tallsbi.api.priors`.

    `simulations` draws of the prior are simulated in chunks of `chunk_size` rows (10,000, or 100 one by one), in
    `workers` processes. Without `batched` the simulator is tried with a few rows, and if it does not take them, called
    row by row, with a warning. `on_failure`: what becomes of simulations that raise an exception or are not finite:
    "raise" an error that holds the others; "drop" them and weight the rest by 1 / P(success | theta), learned, for the
    posterior under p(x | theta, success); "flag" them as an outcome of their own, so that observations that are NaN
    count as failures and all others as none. `condition`: known numbers beside each observation, such as a dose, drawn
    independently of theta: an array [K, c] to draw from or a function of N to [N, c]. The simulator is then called with
    (theta, condition), and observations are given as [n, d + c] or as a tuple (x, condition).

    `embedding`: turns an observation of any shape, x [N, ...], into features, and is trained with the network: "mlp",
    "cnn", "gru", `tallsbi.MLP`, `CNN` or `GRU` with their sizes, or any torch module. Observations of different lengths
    are a list of arrays; an embedding then gets a mask as its second argument.

    The learning rate falls to zero over `epochs`: 100 for 20,000 simulations if none are given, more for fewer
    simulations and fewer for more, as the square root of their number. With `early_stopping` training ends when the
    validation loss has not improved for `patience` epochs, and the best network is kept; without, it runs for all
    `epochs` and keeps the last. `log_x`: observations are positive and standardised in log space. `summaries`: also
    learn summaries of single observations, with which many are taken together (method CLT, see `tallsbi.summaries`;
    not with `condition` or dropped failures).
    `budget`, such as "5 min": hidden, learning_rate and epochs, where they are not given, are chosen for this time,
    which counts from the call on, and are printed. `checkpoint_dir`: from its files an interrupted simulation or
    training goes on. `horizon`: with a simulator, the share of `simulations` that is simulated in addition, afterwards,
    to measure up to how many observations the posterior can be trusted (`TallPosterior.horizon`): 0.1, or none where
    there is a `budget`; half as many again are repeats of the same parameters, which show how exact the summaries are.
    `device`: "cpu" or "cuda", where the network is trained and, unless `sample` says otherwise, draws are made;
    `precision`: "float32", or "bfloat16" for draws with faster hidden products (docs/precision.md).
    `progress`: a bar always or never; by default after a few seconds. The same seed gives the same
    network, also where the simulator draws from global streams or from a generator of its own.
    """
    habits.known_options("fit", fit, others)
    start, prior = time.monotonic(), as_prior(prior)
    share = checked_share((HORIZON_SHARE if budget is None else 0) if horizon is None else horizon)
    # All that can be wrong is found before the simulator runs, which may take hours.
    device = device_of(device)
    precision = precision_of(precision, device)
    settings = TrainingSettings(
        learning_rate=learning_rate,
        decay=True,
        batch_size=inputs.count(batch_size, "batch_size"),
        epochs=_MOST_EPOCHS if epochs is None else inputs.count(epochs, "epochs"),
        early_stopping=early_stopping,
        patience=inputs.count(patience, "patience"),
        validation_share=validation_share,
        hidden=inputs.widths(hidden),
        layer_norm=layer_norm,
    )
    if embedding is not None:
        described(embedding)
    time_budget = None
    if budget is not None:
        given = {"hidden": hidden, "learning_rate": learning_rate, "epochs": epochs}
        defaults = {name: parameter.default for name, parameter in inspect.signature(fit).parameters.items()}
        time_budget = Budget(seconds_of(budget), start, free(given, defaults))
    folder = None if checkpoint_dir is None else Path(checkpoint_dir)
    how = Calling(
        batched=batched,
        chunk_size=None if chunk_size is None else inputs.count(chunk_size, "chunk_size"),
        workers=inputs.count(workers, "workers"),
        folder=None if folder is None else folder / "simulations",
        progress=progress,
    )
    pairs = training_pairs(
        prior,
        source,
        simulations,
        seed,
        how=how,
        on_failure=on_failure,
        condition=condition,
        by_step=embedding is not None,
        log_x=log_x,
    )
    rows = len(pairs.theta)
    count = settings.epochs if epochs is not None else default_epochs(rows)
    settings = replace(
        settings, epochs=count, min_epochs=min(patience, count), ema_decay=_ema_decay(rows, batch_size)
    )
    latent, layout = prior.to_latent(pairs.theta), pairs.layout
    data = latent.to(device), pairs.rows.to(device)
    weights = None if pairs.weights is None else pairs.weights.to(device)
    stream = integer_seed(seed, "api", "training")

    def start_run(settings: TrainingSettings) -> Run:
        if embedding is None:
            logarithms = log_x and not layout.log_x
            options: Any = {"seed": stream, "weights": weights, "log_x": logarithms}
            return new_run(*data, settings, NETWORK, **options)
        sizes = layout.shape, layout.flags, layout.condition
        options = {"seed": stream, "weights": weights}
        return embedded_run(data[0], data[1], embedding, *sizes, settings, NETWORK, **options)

    show = bar("training", progress)
    if time_budget is not None:
        choice = time_budget.choose(start_run, settings, _TRAINING_SHARE)
        choice.announce(progress)
        settings, show = choice.settings, choice.until_the_end(show)
    trained = finish(start_run(settings), folder, _CHECKPOINT_SECONDS, show)
    if how.folder is not None:
        shutil.rmtree(how.folder, ignore_errors=True)  # another simulator must not find them
    engine = NetworkEngine(trained.saved("api").cpu(), prior, device=device, precision=precision)
    # Dropped failures leave another law of x, and conditions are not drawn anew with every dataset.
    if summaries and pairs.weights is None and not layout.condition:
        seconds = math.inf if time_budget is None else max(0.0, time_budget.left)
        stream = integer_seed(seed, "api", "summaries")
        at_most = SUMMARY_EPOCHS if epochs is None else min(epochs, SUMMARY_EPOCHS)
        learn = partial(SummaryLikelihood.fit, seed=stream, epochs=at_most, seconds=seconds)
        engine = engine.with_summaries(latent, pairs.rows, learn)
        repeats = int(REPEATS_SHARE * share * len(pairs.theta))
        engine = with_repeats(engine, layout, source, repeats, seed, how)
    training_range = TrainingRange.of(engine.scaled(pairs.rows.double()))
    conditions = pairs.conditions[:_KEPT_CONDITIONS]
    posterior = cls(engine, layout.columns, training_range, trained.history, layout, conditions)
    measure_after_fit(posterior, source, int(share * len(pairs.theta)), seed, how)
    return posterior


def default_epochs(simulations: int) -> int:
    """As `fit` says."""
    return round(min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, _EPOCHS * math.sqrt(_EPOCHS_FOR / simulations))))


def _ema_decay(rows: int, batch_size: int) -> float:
    """Weights averaged over about ten epochs, a thousand steps at most: short trainings must not lag behind."""
    return min(0.999, 1 - 0.1 / max(1, rows // batch_size))
