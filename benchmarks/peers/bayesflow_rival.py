"""BayesFlow's compositional sampler, in an interpreter of its own: its dependencies are not ours.

`make bayesflow` builds the environment build/bayesflow. What the two programs tell each other is in NumPy files.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np

from benchmarks.peers.case import Case
from benchmarks.peers.rival import Rival

_ROOT = Path(__file__).resolve().parents[2]
PYTHON = _ROOT / "build" / "bayesflow" / "bin" / "python"
_SCRIPT = Path(__file__).with_name("bayesflow_script.py")


class BayesFlow(Rival):
    name = "BayesFlow"
    methods = ("BayesFlow", "BayesFlow, damped")
    samples = 200

    def __init__(self, python: Path = PYTHON) -> None:
        self.python = python

    def missing(self) -> str:
        if not self.python.is_file():
            return f"there is no {self.python}; `make bayesflow` installs it"
        done = self._run(["check"])
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return f"it cannot be imported there ({last}); `make bayesflow` installs it again"
        return ""

    def train(self, case: Case, folder: Path) -> float:
        theta, x = case.pairs
        np.savez(folder / "pairs.npz", theta=theta.numpy(), x=x.numpy())
        return self._timed(["train", str(folder)])

    def draw(self, method: str, case: Case, folder: Path, n: int, samples: int) -> tuple[np.ndarray, float]:
        prior = {
            "mean": case.prior.mean.numpy(),
            "precision": case.prior.precision_matrix.numpy(),
        }
        np.savez(folder / "data.npz", x=case.data[:, :n].numpy(), **prior)
        damped = ["damped"] if method.endswith("damped") else []
        seconds = self._timed(["draw", str(folder), str(samples), *damped])
        return np.load(folder / "draws.npz")["theta"].astype(np.float64), seconds

    def skipped(self, method: str, case: Case, n: int) -> str:
        return "one observation: there is nothing to damp" if n == 1 and method != self.methods[0] else ""

    def _timed(self, words: list[str]) -> float:
        """CPU seconds, without those of the imports: the script takes them."""
        done = self._run(words)
        if done.returncode:
            raise RuntimeError(f"BayesFlow, {' '.join(words)}: {done.stderr.strip()[-2000:]}")
        return float((Path(words[1]) / "seconds.txt").read_text())

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"KERAS_BACKEND": "torch", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
        command = [str(self.python), str(_SCRIPT), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
