"""The sbibm tasks (section 4.2), with guidance, partial factorisation and what goes beyond the paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tallsbi.study.parts.part import with_clipped
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
"""The folders of samples below a network size: the paper's, those with other bounds, those of the two appendices."""


@dataclass(frozen=True, eq=False)
class SbibmPart(SbibmGrid):
    """`cells`: what is sampled and measured of the grid of tasks, N_train and runs; None for the whole grid."""

    cells: Cells | None = None

    # Data

    def problem(self, name: str, *, prior: bool = False, truth: bool = False) -> ProblemSettings:
        """With the components of a mixture, except for what depends on its prior alone."""
        with_stds = name in MIXTURES and not prior
        return ProblemSettings(name, stds=tuple(self.fidelity["gmm_stds"]) if with_stds else None)

    def simulate(self, problem: str, kind: str) -> SimulateSettings:
        """`simulations` for the ordinary networks, or `groups` of observations for partial factorisation."""
        seed, simulator = self.config["seed"], self.problem(problem)
        if kind == "groups":
            return SimulateSettings(seed, simulator, self.most_simulations, self.largest_group)
        return SimulateSettings(seed, simulator, self.section["simulations"])

    def observe(self, problem: str, kind: str) -> ObserveSettings:
        """Observations of the parameter sets; the only `kind` is `observations`."""
        sizes = self.section["sets"], self.section["observations"]
        return ObserveSettings(self.config["seed"], self.problem(problem), *sizes)

    def reference(self, problem: str) -> ReferenceSettings:
        return ReferenceSettings.take(
            self.section, self.config, problem=self.problem(problem), chains=self.chains
        )

    @property
    def chains(self) -> ChainSettings:
        """The chains behind references that have no exact method."""
        return ChainSettings(**self.section["reference"])

    # Training

    def published(self, problem: str) -> Candidate:
        training = self.section["training"]
        choice = training["exceptions"].get(problem, training)
        return Candidate(choice["learning_rate"], choice["batch_size"])

    def candidates(self, problem: str) -> tuple[Candidate, ...]:
        """The whole grid for the tasks of the main text; for the others the published choice, or its batch size with
        every learning rate where the budget decides."""
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
        """The tasks and N_train with distances of at least one run."""
        tasks = self.paper_tasks if variant == SAMPLES else self.other_bounds_tasks
        sizes = self.n_train if variant == SAMPLES else [self.most_simulations]
        return [(task, size) for task in tasks for size in sizes if self.runs_of(task, size, variant)]

    @cached_property
    def sampled(self) -> dict[str, tuple[str, ...]]:
        jobs = {
            self._folder(task, size, variant, method): self._names(task, size, variant, method)
            for variant in (SAMPLES, OTHER_BOUNDS)
            for task, size in self.measured(variant)
            for method in self.methods
        }
        guidance = {
            self._folder(task, size, "guidance", "GAUSS"): ("GAUSS",)
            for task in self.main_tasks
            for size in self.n_train
        }
        return {folder: names for folder, names in jobs.items() if names} | guidance

    def _names(self, problem: str, n_train: int, variant: str, method: str) -> tuple[str, ...]:
        runs = self.runs_of(problem, n_train, variant)
        return tuple(run for run in with_clipped(method) if run in runs)

    def sample(
        self, problem: str, n_train: int, variant: str, method: str, batch: str
    ) -> SizedSampleSettings:
        """One method, plain and clipped as far as both are needed; for `guidance` plain, with the prior that the
        network has learned."""
        guidance, other_bounds = variant == "guidance", variant == OTHER_BOUNDS
        return self.sampling(
            problem,
            {method: self._options(method, problem)},
            n_train=n_train,
            kind="sets",
            names=(method,) if guidance else self._names(problem, n_train, variant, method),
            n_obs=self.n_obs_of(problem),
            batch=batch,
            learned_prior=guidance,
            **self._sizes(problem),
            **({"bounds_factor": self.other_bounds_factor} if other_bounds else {}),
        )

    def _sizes(self, problem: str) -> dict[str, Any]:
        return {"samples_by_n": self.section["samples_by_n"], "sets": self.sets_of(problem)}

    def _options(self, method: str, problem: str) -> dict[str, Any]:
        return self.options(method, self._max_steps(problem))

    def _max_steps(self, problem: str) -> int:
        return self.section["max_steps" if problem in self.main_tasks else "extra_max_steps"]

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
    def other_bounds_factor(self) -> float:
        """The factor on the bounds of uniform priors that the run does not have elsewhere: 2 beside 1, 1 beside 2."""
        return 2.0 if self.fidelity["uniform_bounds_factor"] == 1 else 1.0

    @property
    def other_bounds_tasks(self) -> list[str]:
        return self.present_tasks(self.section["bounds_tasks"])

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
        fields = {"kind": "sets", "names": names, "n_obs": [self.group_n], **self._sizes(problem)}
        return self.sampling(problem, options, n_train=n_train, **fields)

    def collect_partial(self) -> CollectSettings:
        return CollectSettings("partial", methods=tuple(self.group_methods), n=self.group_n)

    # Beyond the paper

    def time_steps(self, problem: str) -> TimeSettings:
        return self._time(problem, "steps", self.methods_of("beyond"), n_obs=self.steps_n_obs)

    @property
    def steps_n_obs(self) -> list[int]:
        """The configured n that have references; if none has, the largest n of the run."""
        return [n for n in self.section["steps"]["n_obs"] if n in self.n_obs] or [max(self.n_obs)]

    def time_many(self, problem: str) -> TimeSettings:
        methods = self.methods_of("beyond")
        names = [name for name in self.section["many"]["methods"] if name in methods]
        return self._time(problem, "many", {name: methods[name] for name in names})

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

    def calibration(self, problem: str, method: str) -> HorizonSettings:
        """Calibration against n, one method with as many steps as its samples have."""
        return HorizonSettings.take(self._beyond(problem, method), self.section["horizon"], self.config)

    def refine(self, problem: str) -> RefineSettings:
        """Refinements of the posteriors of GAUSS_PD, or of another method where it is not configured. The fits are
        small, so they run on the CPU."""
        methods = self.methods_of("beyond")
        method = next(name for name in ("GAUSS_PD", *methods) if name in methods)
        fields = self._beyond(problem, method) | {"device": "cpu"}
        return RefineSettings.take(fields, self.section["refined"], self.config["metrics"], self.config)

    def _beyond(self, problem: str, method: str) -> dict[str, Any]:
        """One method with the largest network, and as many steps as its samples have."""
        options = dict(self.methods_of("beyond")[method])
        options["steps"] = min(options["steps"], self._max_steps(problem))
        return {
            "problem": self.problem(problem),
            "n_train": self.most_simulations,
            "methods": self.with_shared({method: options}, self.fidelity["uniform_switch"]),
            "bounds_factor": self.fidelity["uniform_bounds_factor"],
        }

    def observe_many(self, problem: str, study: str = "many") -> ManySettings:
        """`study`: the section with its sizes."""
        return ManySettings.take(
            self.section[study], self.config, problem=self.problem(problem), chains=self.chains
        )
