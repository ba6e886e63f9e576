"""The sbibm tasks (section 4.2), with guidance, partial factorisation and what goes beyond the paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tallsbi.study.parts.part import both
from tallsbi.study.parts.sbibm_grid import SbibmGrid
from tallsbi.study.settings.cells import OTHER_BOUNDS, SAMPLES, Cell, Cells
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.collect import CollectSettings
from tallsbi.study.settings.horizon import HorizonSettings
from tallsbi.study.settings.measure import MeasureSettings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.reference import ReferenceSettings
from tallsbi.study.settings.refine import RefineSettings
from tallsbi.study.settings.select import Candidate
from tallsbi.study.settings.simulate import ObserveSettings, SimulateSettings
from tallsbi.study.settings.sized_sample import SizedSampleSettings
from tallsbi.study.settings.time import ManySettings, TimeSettings
from tallsbi.study.settings.train import TrainGroupsSettings, TrainSettings

MIXTURES = ("gmm", "gmm_uniform")  # the tasks with the components of fidelity.gmm_stds
VARIANTS = (SAMPLES, OTHER_BOUNDS, "guidance", "partial")
"""The folders of samples of one network size: the paper's, with other bounds, and of the two appendices."""


@dataclass(frozen=True, eq=False)
class SbibmPart(SbibmGrid):
    """`cells`: what is sampled and measured of the grid of tasks, N_train and runs; without it, all of the grid."""

    cells: Cells | None = None

    # Data

    def problem(self, name: str, *, prior: bool = False, truth: bool = False) -> ProblemSettings:
        """With the components of a mixture, except for what depends on its prior alone."""
        configured = name in MIXTURES and not prior
        return ProblemSettings(name, stds=tuple(self.fidelity["gmm_stds"]) if configured else None)

    def simulate(self, problem: str, kind: str) -> SimulateSettings:
        """`simulations` for the ordinary networks, or `groups` of observations for partial factorisation."""
        seed, named = self.config["seed"], self.problem(problem)
        if kind == "groups":
            return SimulateSettings(seed, named, self.most_simulations, self.largest_group)
        return SimulateSettings(seed, named, self.section["simulations"])

    def observe(self, problem: str, kind: str) -> ObserveSettings:
        """Observations of the parameter sets; the only `kind` is `observations`."""
        sizes = self.section["sets"], self.section["observations"]
        return ObserveSettings(self.config["seed"], self.problem(problem), *sizes)

    def reference(self, problem: str) -> ReferenceSettings:
        named = self.problem(problem)
        return ReferenceSettings.take(self.section, self.config, problem=named, chains=self.chains)

    @property
    def chains(self) -> ChainSettings:
        """Those behind references without an exact method."""
        return ChainSettings(**self.section["reference"])

    # Training

    def published(self, problem: str) -> Candidate:
        training = self.section["training"]
        choice = training["exceptions"].get(problem, training)
        return Candidate(choice["learning_rate"], choice["batch_size"])

    def candidates(self, problem: str) -> tuple[Candidate, ...]:
        """The whole grid for the tasks of the main text; for the others the published choice, or its batch size with
        every learning rate where the budget is not the published one."""
        training, published = self.section["training"], self.published(problem)
        if problem not in self.main_tasks and not self.fits_budget:
            return (published,)
        sizes = training["batch_sizes"] if problem in self.main_tasks else [published.batch_size]
        return tuple(Candidate(rate, size) for size in sizes for rate in training["learning_rates"])

    def architecture(self) -> dict[str, Any]:
        return {}

    # Sampling and distances

    def runs_of(self, problem: str, n_train: int, variant: str = SAMPLES) -> list[str]:
        """The runs that are sampled on a task with networks of a size."""
        return [
            run
            for run in self.runs
            if self.cells is None or Cell(problem, n_train, run, variant) in self.cells
        ]

    def measured(self, variant: str = SAMPLES) -> list[tuple[str, int]]:
        """The tasks and N_train that have distances of any run."""
        tasks = self.problems if variant == SAMPLES else self.other_bounds_tasks
        sizes = self.n_train if variant == SAMPLES else [self.most_simulations]
        return [(task, size) for task in tasks for size in sizes if self.runs_of(task, size, variant)]

    @cached_property
    def sampled(self) -> dict[str, tuple[str, ...]]:
        jobs = {
            self._folder(task, size, variant, algorithm): self._names(task, size, variant, algorithm)
            for variant in (SAMPLES, OTHER_BOUNDS)
            for task, size in self.measured(variant)
            for algorithm in self.methods
        }
        guidance = {
            self._folder(task, size, "guidance", "GAUSS"): ("GAUSS",)
            for task in self.main_tasks
            for size in self.n_train
        }
        return {folder: names for folder, names in jobs.items() if names} | guidance

    def _names(self, problem: str, n_train: int, variant: str, algorithm: str) -> tuple[str, ...]:
        chosen = self.runs_of(problem, n_train, variant)
        return tuple(run for run in both(algorithm) if run in chosen)

    def sample(
        self, problem: str, n_train: int, variant: str, algorithm: str, batch: str
    ) -> SizedSampleSettings:
        """One algorithm, plain and clipped as far as both are needed; for `guidance` plain, with the prior that the
        network has learned."""
        guidance, other_bounds = variant == "guidance", variant == OTHER_BOUNDS
        return self.sampling(
            problem,
            {algorithm: self._options(algorithm, problem)},
            n_train=n_train,
            kind="sets",
            names=(algorithm,) if guidance else self._names(problem, n_train, variant, algorithm),
            n_obs=self.n_obs_of(problem),
            batch=batch,
            learned_prior=guidance,
            **self._sizes(problem),
            **({"bounds_factor": self.other_factor} if other_bounds else {}),
        )

    def _sizes(self, problem: str) -> dict[str, Any]:
        return {"samples_by_n": self.section["samples_by_n"], "sets": self.sets_of(problem)}

    def _options(self, algorithm: str, problem: str) -> dict[str, Any]:
        most = "max_steps" if problem in self.main_tasks else "extra_max_steps"
        return self.options(algorithm, self.section[most])

    def measure(self, problem: str, n_train: int, variant: str) -> MeasureSettings:
        if variant in (SAMPLES, OTHER_BOUNDS):
            runs = self.runs_of(problem, n_train, variant)
        else:
            runs = ["GAUSS"] if variant == "guidance" else ["/".join(cell) for cell in self.group_runs]
        n_obs = [self.group_n] if variant == "partial" else self.n_obs_of(problem)
        return MeasureSettings.take(
            self.config["metrics"], self.config, n_train=n_train, n_obs=n_obs, runs=runs
        )

    @property
    def other_factor(self) -> float:
        """The other factor on the bounds of uniform priors: doubled beside true, whichever the run has elsewhere."""
        return 2.0 if self.fidelity["uniform_bounds_factor"] == 1 else 1.0

    @property
    def other_bounds_tasks(self) -> list[str]:
        return self.known(self.section["bounds_tasks"])

    # Guidance and partial factorisation (appendices)

    def train_guidance(self, problem: str, n_train: int) -> TrainSettings:
        return self.train(problem, n_train, drop_context=self.section["guidance"]["drop"])

    @property
    def group_n(self) -> int:
        """The number of observations of partial factorisation."""
        return max(self.n_obs)

    @property
    def group_methods(self) -> list[str]:
        return [method for method in self.section["partial"]["methods"] if method in self.methods]

    @property
    def largest_group(self) -> int:
        return max(self.section["partial"]["n_max"])

    @property
    def group_networks(self) -> list[str]:
        """The folders of the networks on groups; n_max = 1 is the ordinary network."""
        partial = self.section["partial"]
        sizes = [n_max for n_max in partial["n_max"] if n_max > 1]
        return [f"n_max~{n_max}-{encoder}" for n_max in sizes for encoder in partial["encoders"]]

    @property
    def group_runs(self) -> list[tuple[str, str]]:
        return [(network, method) for network in self.group_networks for method in self.group_methods]

    def train_groups(self, problem: str, n_train: int, encoder: str, n_max: int) -> TrainGroupsSettings:
        ordinary = self.train(problem, n_train)
        return TrainGroupsSettings(**vars(ordinary), encoder=encoder, n_max=n_max)

    def sample_groups(self, problem: str, n_train: int) -> SizedSampleSettings:
        names = self.group_methods
        options = {name: self._options(name, problem) for name in names}
        given = {"kind": "sets", "names": names, "n_obs": [self.group_n], **self._sizes(problem)}
        return self.sampling(problem, options, n_train=n_train, **given)

    def collect_partial(self) -> CollectSettings:
        return CollectSettings("partial", methods=tuple(self.group_methods), n=self.group_n)

    # Beyond the paper

    def time_steps(self, problem: str) -> TimeSettings:
        return self._time(problem, "steps", self.methods_of("beyond"), n_obs=self.steps_n_obs)

    @property
    def steps_n_obs(self) -> list[int]:
        """As far as there are references for them; else the largest n there is."""
        return [n for n in self.section["steps"]["n_obs"] if n in self.n_obs] or [max(self.n_obs)]

    def time_many(self, problem: str) -> TimeSettings:
        methods = self.methods_of("beyond")
        chosen = {name: methods[name] for name in self.section["many"]["methods"] if name in methods}
        return self._time(problem, "many", chosen)

    def _time(
        self, problem: str, study: str, methods: Mapping[str, Mapping[str, Any]], **given: Any
    ) -> TimeSettings:
        """`study`: the section with its sizes."""
        return TimeSettings.take(
            given,
            self.section[study],
            self.config["metrics"],
            self.config,
            problem=self.problem(problem),
            n_train=self.most_simulations,
            methods=self.with_shared(methods, self.fidelity["uniform_switch"]),
            bounds_factor=self.fidelity["uniform_bounds_factor"],
        )

    def calibration(self, problem: str, algorithm: str) -> HorizonSettings:
        """Calibration against n, one algorithm with as many steps as its samples have."""
        return HorizonSettings.take(self._beyond(problem, algorithm), self.section["horizon"], self.config)

    def refine(self, problem: str) -> RefineSettings:
        """Refinements of posteriors of GAUSS_PD, or of another method where there is none; small fits, on the CPU."""
        methods = self.methods_of("beyond")
        start = next(name for name in ("GAUSS_PD", *methods) if name in methods)
        given = self._beyond(problem, start) | {"device": "cpu"}
        return RefineSettings.take(given, self.section["refined"], self.config["metrics"], self.config)

    def _beyond(self, problem: str, algorithm: str) -> dict[str, Any]:
        """One algorithm with the largest network, and as many steps as its samples have."""
        most = "max_steps" if problem in self.main_tasks else "extra_max_steps"
        options = dict(self.methods_of("beyond")[algorithm])
        options["steps"] = min(options["steps"], self.section[most])
        return {
            "problem": self.problem(problem),
            "n_train": self.most_simulations,
            "methods": self.with_shared({algorithm: options}, self.fidelity["uniform_switch"]),
            "bounds_factor": self.fidelity["uniform_bounds_factor"],
        }

    def observe_many(self, problem: str, study: str = "many") -> ManySettings:
        """`study`: the section with its sizes."""
        named = self.problem(problem)
        return ManySettings.take(self.section[study], self.config, problem=named, chains=self.chains)
