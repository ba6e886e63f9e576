"""`TallPosterior.fit` and `sample` as the README has them: a simulator, all defaults, method AUTO.

`fit` simulates 15 % more than is requested, to measure the horizon and to see how far summaries can be believed. Here
less is requested, so that all its simulations together are as many as the other packages get.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from torch import Tensor

from benchmarks.peers.case import Case
from benchmarks.peers.rival import Rival
from tallsbi import TallPosterior
from tallsbi.api.horizon import HORIZON_SHARE
from tallsbi.api.repeats import REPEATS_SHARE


class Ours(Rival):
    name, methods = "tallsbi", ("TallPosterior",)

    def train(self, case: Case, folder: Path) -> float:
        task, spent = case.task, 0.0
        simulate = task.simulator()

        def simulator(theta: Tensor) -> Tensor:
            nonlocal spent
            start = time.process_time()
            x = simulate(theta)
            spent += time.process_time() - start
            return x

        requested = int(case.simulations / (1 + HORIZON_SHARE * (1 + REPEATS_SHARE)))
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            posterior = TallPosterior.fit(
                task.prior, simulator, simulations=requested, log_x=task.log_x, progress=False
            )
        posterior.save(folder / "posterior")
        return time.process_time() - start - spent

    def draw(self, method: str, case: Case, folder: Path, n: int, samples: int) -> tuple[np.ndarray, float]:
        posterior, start = TallPosterior.load(folder / "posterior"), time.process_time()
        draws = posterior.sample(case.raw_data[:, :n], samples, progress=False)
        seconds = time.process_time() - start
        return case.task.prior.to_latent(draws).double().numpy(), seconds
