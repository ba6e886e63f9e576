"""The toy problems (section 4.1)."""

from tallsbi.algorithms import base_name
from tallsbi.study.parts.part import Part
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.sample import Methods
from tallsbi.study.settings.toy import (
    PedagogicalSettings,
    ToyCell,
    ToyMeasureSettings,
    ToyModel,
    ToyReferenceSettings,
    ToySampleSettings,
    ToyTimeSettings,
)

NO_SWITCH_OVER = 0.0  # no toy prior is uniform, so there is nothing to switch over


class ToyPart(Part):
    name = "toy"

    @property
    def gaussian(self) -> str:
        """The Gaussian problem of tables and times."""
        return f"gaussian-{self.fidelity['toy_prior']}"

    @property
    def dims(self) -> dict[str, list[int]]:
        """The dimensions m of each problem; the Gaussian with the other prior may have fewer."""
        dims = self.section["dims"]
        other_prior_dims = [m for m in dims if m <= self.section["other_prior_max_dim"]]
        gaussian = dict.fromkeys(("gaussian-wide", "gaussian-standard"), other_prior_dims)
        return gaussian | {self.gaussian: dims, "mixture": [self.section["mixture"]["dim"]]}

    def table_dim(self, problem: str) -> int:
        """The m of the time-accuracy table of a problem."""
        return self.dims[problem][0] if problem == "mixture" else self.section["table"]["dim"]

    @property
    def timed_cells(self) -> list[tuple[str, int]]:
        """Problem and m of every timing job, the mixture's cell of the tables included."""
        gaussian = [(self.gaussian, m) for m in self.section["timing"]["dims"]]
        return [*gaussian, ("mixture", self.table_dim("mixture"))]

    @property
    def model(self) -> ToyModel:
        section = self.section
        return ToyModel(
            correlation=section["correlation"],
            wide_mean=section["wide_prior"]["mean"],
            wide_std=tuple(section["wide_prior"]["std"]),
            scales=tuple(section["mixture"]["scales"]),
            spread=tuple(section["mixture"]["spread"]),
        )

    def cell(self, problem: str, m: int, seeds: int | None = None) -> ToyCell:
        return ToyCell(self.model, problem, m, self.section["seeds"] if seeds is None else seeds)

    def reference(self, problem: str, m: int) -> ToyReferenceSettings:
        chains = ChainSettings(**self.section["mala"])
        return ToyReferenceSettings.take(self.section, self.config, cell=self.cell(problem, m), chains=chains)

    def selected_methods(self, *methods: str) -> Methods:
        return self.with_shared({name: self.methods[name] for name in methods}, NO_SWITCH_OVER)

    def is_equal_time(self, method: str, steps: int) -> bool:
        """Whether T = `steps` is that of the equal-time setting, at which a method samples all cells of the study."""
        return steps == self.methods[base_name(method)]["steps"]

    def n_obs_of(self, method: str, steps: int) -> list[int]:
        """The n of a sampling job: all at the T of equal time, only the table's at other T."""
        table_n_obs = [self.section["table"]["n_obs"]]
        return self.section["n_obs"] if self.is_equal_time(method, steps) else table_n_obs

    def sample(self, problem: str, m: int, noise: float, steps: int, method: str) -> ToySampleSettings:
        return ToySampleSettings.take(
            self.config,
            cell=self.cell(problem, m),
            noise=noise,
            name=method,
            steps=steps,
            methods=self.selected_methods(base_name(method)),
            samples=self.section["samples"],
            n_obs=self.n_obs_of(method, steps),
        )

    def measure(self, by_steps: bool) -> ToyMeasureSettings:
        """Distances of one cell of the study, or of the table's cell for all T."""
        n_obs = [self.section["table"]["n_obs"]] if by_steps else self.section["n_obs"]
        return ToyMeasureSettings.take(self.section, self.config["metrics"], self.config, n_obs=n_obs)

    def time(self, problem: str, m: int) -> ToyTimeSettings:
        return ToyTimeSettings.take(
            self.section["timing"],
            self.config,
            cell=self.cell(problem, m, seeds=1),
            noise=self.section["table"]["noise"],
            methods=self.selected_methods(*self.methods),
        )

    def pedagogical(self) -> PedagogicalSettings:
        section = self.section
        return PedagogicalSettings.take(
            section["pedagogical"], section, self.config, methods=self.selected_methods("GAUSS")
        )
