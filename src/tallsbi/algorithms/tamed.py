"""TAMED: F-NPSE's sum of scores under tamed Langevin dynamics."""

from dataclasses import dataclass

from tallsbi.algorithms.shared.summed import SummedScores
from tallsbi.samplers.tamed import TamedLangevin


@dataclass(frozen=True, kw_only=True)
class TamedAlgorithm(SummedScores, TamedLangevin):
    pass


ALGORITHM = TamedAlgorithm
