"""TAMED: F-NPSE's sum of scores under tamed Langevin dynamics."""

from dataclasses import dataclass

from tallsbi.algorithms.shared.summed import AlongPath
from tallsbi.samplers.tamed import TamedLangevin


@dataclass(frozen=True, kw_only=True)
class TamedAlgorithm(AlongPath, TamedLangevin):
    pass


ALGORITHM = TamedAlgorithm
