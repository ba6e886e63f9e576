"""LANGEVIN: F-NPSE's sum of scores under annealed Langevin dynamics."""

from dataclasses import dataclass

from tallsbi.algorithms.shared.summed import AlongPath
from tallsbi.samplers.langevin import Langevin


@dataclass(frozen=True, kw_only=True)
class LangevinAlgorithm(AlongPath, Langevin):
    pass


ALGORITHM = LangevinAlgorithm
