"""AUTO: GAUSS_PD for few observations, CLT for many, if the network has summaries beside it.

The central limit theorem needs more than a few observations, and errors of the composed score grow with their number:
each serves where it is the better one (see `docs/research.md`).
"""

from dataclasses import dataclass

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.clt import CLT
from tallsbi.algorithms.gauss_pd import GaussPD
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Samples


@dataclass(frozen=True, kw_only=True)
class Auto(GaussPD):
    """The settings of GAUSS_PD; from `clt_from` observations on CLT draws instead."""

    clt_from: int = 8

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        if problem.likelihood is not None and problem.x.shape[1] >= self.clt_from:
            return CLT().sample(problem, samples, noise, progress)
        return super().sample(problem, samples, noise, progress)


ALGORITHM = Auto
