"""What most algorithms are: a composition of the single scores, followed by a sampler."""

from abc import abstractmethod
from dataclasses import dataclass

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.compose.base import TallScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Sampler, Samples
from tallsbi.samplers.one_pass import run_both


@dataclass(frozen=True, kw_only=True)
class ComposedAlgorithm(Algorithm):
    """A subclass gives `tall` and `sampler`; draws without and with clipping come from one pass."""

    @property
    @abstractmethod
    def sampler(self) -> Sampler: ...

    @abstractmethod
    def tall(self, problem: Problem, samples: int, noise: Noise) -> TallScore:
        """The composition for so many samples; `noise` is for what it has to estimate first."""

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        return self.sampler.run(self.tall(problem, samples, noise), samples, noise, progress)

    def sample_both(
        self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter
    ) -> tuple[Samples, Samples]:
        if type(self).sample is not ComposedAlgorithm.sample:  # a subclass that draws in another way
            return super().sample_both(problem, samples, noise, progress)
        self._require_box()
        return run_both(self.sampler, self.tall(problem, samples, noise), samples, noise, progress)
