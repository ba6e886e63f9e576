"""DET_GEF: the Langevin-free sampler of Geffner et al. 2023, appendix D."""

from dataclasses import dataclass

from tallsbi.algorithms.shared.summed import SummedScores
from tallsbi.samplers.det_gef import DetGef


@dataclass(frozen=True, kw_only=True)
class DetGefAlgorithm(SummedScores, DetGef):
    pass


ALGORITHM = DetGefAlgorithm
