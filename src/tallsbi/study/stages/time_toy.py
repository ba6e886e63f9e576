"""Sampling times of the algorithms on the toy problems, by the protocol of `stages.protocol`.

As in the paper, a covariance is estimated from as many draws as the posterior gets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pandas as pd
import torch

from tallsbi.random import numpy_generator
from tallsbi.study.columns.toy import TIMING
from tallsbi.study.settings.toy import ToyTimeSettings
from tallsbi.study.stages.draws import Datasets, tall_draws
from tallsbi.study.stages.protocol import hardware, timed, turns
from tallsbi.study.stages.toy import ToyEngine, toy_stream
from tallsbi.study.tasks.toy import make_toy


def time_methods(settings: ToyTimeSettings, progress: Callable = iter) -> pd.DataFrame:
    """A row per n, T, method and round: seconds for one dataset."""
    cell, samples = settings.cell, settings.samples
    toy = make_toy(cell, max(settings.n_obs), settings.seed)
    engine = ToyEngine(toy, settings.noise, getattr(torch, settings.dtype), settings.device)

    def run(n: int, steps: int, method: str) -> Any:
        return tall_draws(
            engine,
            settings.methods.timed(method, samples, cell.m, steps=steps),
            Datasets(toy.x, range(cell.seeds), axis="seed"),
            [n],
            samples,
            settings.seed,
            toy_stream(cell, method, steps),
            device=settings.device,
        )

    for n, method in product(settings.n_obs, settings.methods.options):
        run(n, min(settings.steps), method)
    cells = list(product(settings.n_obs, settings.steps, settings.methods.options))
    order = numpy_generator(settings.seed, "toy", "timing", cell.problem, cell.m)
    rows, machine = [], hardware(settings.device)
    for round_, index in progress(turns(cells, settings.repeats, order)):
        n, steps, method = cells[index]
        _, seconds = timed(partial(run, n, steps, method))
        rows.append((cell.problem, cell.m, n, steps, method, samples, machine, round_, seconds))
    frame = TIMING.frame(rows)
    return frame.sort_values(list(frame.columns[:-1]), ignore_index=True)
