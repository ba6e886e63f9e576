"""sbi's four ways to draw given several observations from one score network, with its defaults (500 steps)."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers.case import Case
from benchmarks.peers.nle import quietly
from benchmarks.peers.rival import Rival, load_network, save_network, stacked


class ScoresOfSbi(Rival):
    name = "NPSE"
    methods = ("sbi auto_gauss", "sbi gauss", "sbi fnpe", "sbi jac_gauss")
    samples = 200
    steps = 500

    def train(self, case: Case, folder: Path) -> float:
        from sbi.inference import NPSE

        torch.manual_seed(0)
        start = time.process_time()
        # Variance preserving, as the methods for several observations were derived.
        save_network(quietly(NPSE, case.prior, *case.pairs, {}, sde_type="vp"), folder)
        return time.process_time() - start

    def draw(self, method: str, case: Case, folder: Path, n: int, samples: int) -> tuple[np.ndarray, float]:
        from sbi.inference.posteriors import VectorFieldPosterior

        posterior = VectorFieldPosterior(load_network(folder), case.prior)
        iid, options = method.removeprefix("sbi "), {"steps": self.steps, "show_progress_bars": False}
        start = time.process_time()

        def one(number: int, x: Tensor) -> Tensor:
            torch.manual_seed(number)
            try:
                return posterior.sample((samples,), x=x, iid_method=iid, **options)
            except (RuntimeError, ValueError, AssertionError) as error:
                # A precision that cannot be inverted ends a call: all its draws are lost.
                if "singular" not in str(error).lower() and "nan" not in str(error).lower():
                    raise
                return torch.full((samples, case.truth.shape[1]), torch.nan)

        draws = [one(number, x[:n]) for number, x in enumerate(case.data)]
        return stacked(draws), time.process_time() - start

    def skipped(self, method: str, case: Case, n: int) -> str:
        return "one observation: all four are the same" if n == 1 and method != self.methods[0] else ""
