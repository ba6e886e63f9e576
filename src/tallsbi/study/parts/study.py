"""The settings of every job, built from the resolved configuration here and nowhere else.

    study = Study(config)
    study.sbibm.sample("slcp", 3000, "samples", "JAC", "1-of-5").as_params()

Each part of the study knows its problems, its methods and what it decides from the configuration; `work` says how large
the jobs are. No job imports these modules, so that a change here reruns only the jobs whose settings it changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tallsbi.study.parts.jrnmm import JrnmmPart
from tallsbi.study.parts.sbibm import SbibmPart
from tallsbi.study.parts.toy import ToyPart
from tallsbi.study.settings.cells import Cells
from tallsbi.study.settings.theory import TheorySettings


@dataclass(frozen=True, eq=False)
class Study:
    """The parts of the study under one configuration; `cells`: what is computed of the benchmark, None for all."""

    config: Mapping[str, Any]
    cells: Cells | None = None

    @cached_property
    def toy(self) -> ToyPart:
        return ToyPart(self.config)

    @cached_property
    def sbibm(self) -> SbibmPart:
        return SbibmPart(self.config, self.cells)

    @cached_property
    def jrnmm(self) -> JrnmmPart:
        return JrnmmPart(self.config)

    def theory(self) -> TheorySettings:
        """The first three sets are enough to find a posterior whose number of modes differs."""
        toy, sbibm = self.toy, self.sbibm.section
        return TheorySettings.take(
            self.config,
            model=toy.model,
            methods=toy.selected_methods(*toy.methods),
            tasks=self.sbibm.main_tasks,
            sets=min(sbibm["sets"], 3),
            n=min(8, sbibm["observations"]),
        )

    @property
    def trained(self) -> dict[str, SbibmPart | JrnmmPart]:
        """The parts with networks, by name."""
        return {part.name: part for part in (self.sbibm, self.jrnmm)}
