"""Peak memory of sampling jobs: all 25 parameter sets at once, S = 1000, n = 30, with GAUSS and JAC.

Measured in a process of its own, libraries included. Few time steps are enough: memory does not depend on
their number.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.report import Row

SETS, SAMPLES, OBSERVATIONS, M, D = 25, 1000, 30, 5, 8
LIMIT = 2048.0


def run(rounds: int) -> list[Row]:
    return [
        Row(f"peak memory of {name}, {SETS} sets / limit", peak, LIMIT, "MiB", peak / LIMIT, 1.0)
        for name, peak in ((name, _peak(name)) for name in ("GAUSS", "JAC"))
    ]


def _peak(name: str) -> float:
    command = f"from {__name__} import sample; print(sample({name!r}))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def sample(name: str) -> float:
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
    score = NetworkScore(ScoreNetwork(Architecture(M, D), draws), NETWORK)
    x = torch.randn(SETS, OBSERVATIONS, D, generator=draws)
    settings = {"steps": 1, **({"cov_steps": 2} if name == "GAUSS" else {})}
    build(name, settings).sample(Problem(score, Gaussian.standard(M), x), SAMPLES, Noise([draws]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
