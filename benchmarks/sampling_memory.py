"""Peak memory of sampling jobs: all 25 parameter sets at once, S = 1000, n = 30, with GAUSS and JAC.

Measured in a process of its own, libraries included. Few time steps are enough: memory does not depend on
their number.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.report import Row

LIMIT = 2048.0


@dataclass(frozen=True)
class Size:
    """Of a sampling job: B datasets, S samples, n observations, m parameters, T steps."""

    datasets: int = 25
    samples: int = 1000
    observations: int = 30
    m: int = 5
    steps: int = 1
    d: int = 8

    def settings(self, method: str) -> dict[str, Any]:
        """Of the method; a run for covariances is as long as the other, and as small as it can be."""
        if method != "GAUSS":
            return {"steps": self.steps}
        covariances = {"covariances": "published", "cov_steps": self.steps, "cov_samples": 2 * self.m}
        return {"steps": self.steps, **covariances}


def run(rounds: int) -> list[Row]:
    peaks = {name: peak(name, Size()) for name in ("GAUSS", "JAC")}
    return [
        Row(f"peak memory of {name}, {Size().datasets} sets / limit", mib, LIMIT, "MiB", mib / LIMIT, 1.0)
        for name, mib in peaks.items()
    ]


def peak(name: str, size: Size) -> float:
    """Peak memory in MiB of a process that does such a job."""
    command = f"from {__name__} import Size, sample; print(sample({name!r}, Size(**{asdict(size)!r})))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def sample(name: str, size: Size) -> float:
    """Peak memory in MiB of this process after a short run of the algorithm."""
    import resource

    import torch

    from tallsbi.algorithms import build
    from tallsbi.algorithms.base import Problem
    from tallsbi.priors.gaussian import Gaussian
    from tallsbi.samplers.base import Noise
    from tallsbi.schedule import NETWORK
    from tallsbi.scores.network import Architecture, ScoreNetwork
    from tallsbi.scores.network_eval import NetworkScore

    torch.set_num_threads(1)
    draws = torch.Generator().manual_seed(0)
    score = NetworkScore(ScoreNetwork(Architecture(size.m, size.d), draws), NETWORK)
    x = torch.randn(size.datasets, size.observations, size.d, generator=draws)
    settings = {"steps": size.steps, **({"cov_steps": 2} if name == "GAUSS" else {})}
    build(name, settings).sample(Problem(score, Gaussian.standard(size.m), x), size.samples, Noise([draws]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
