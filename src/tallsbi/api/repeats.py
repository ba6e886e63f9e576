"""Repeated simulations of the same parameters after a fit: they show how exact the summaries are."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from tallsbi.api.engine import NetworkEngine
from tallsbi.api.layout import Layout
from tallsbi.api.pool import tall_rows
from tallsbi.api.simulation import Calling
from tallsbi.random import integer_seed, torch_generator

REPEATS = 25  # observations of each parameter
REPEATS_SHARE = 0.5  # of the simulations that measure the horizon, in addition to them
_FEWEST_PARAMETERS = 8


def with_repeats(
    engine: NetworkEngine, layout: Layout, source: Any, simulations: int, seed: int, how: Calling
) -> NetworkEngine:
    """With summaries calibrated by repeated simulations, if there is a simulator and enough to ask it for.

    Whatever fails here, the network is trained and must not be lost.
    """
    count = simulations // REPEATS
    if engine.summaries is None or not callable(source) or count < _FEWEST_PARAMETERS:
        return engine
    theta = engine.prior.sample(count, torch_generator(seed, "api", "repeats")).float()
    stream = integer_seed(seed, "api", "repeats", "simulator")
    try:
        x, whole = tall_rows(layout, source, theta, REPEATS, stream, None, seed, replace(how, folder=None))
    except Exception as error:
        warnings.warn(
            f"the summaries of many observations could not be checked ({type(error).__name__}: {error}); the posterior "
            "is fitted, and may be too sure for many observations: see `posterior.horizon(simulator)`.",
            stacklevel=3,
        )
        return engine
    return engine.with_repeats(engine.prior.to_latent(theta[whole].double()), x[whole])
