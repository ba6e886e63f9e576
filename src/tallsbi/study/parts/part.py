"""What the parts of the study share: methods, and for those with networks their training and selection."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tallsbi.algorithms import CLIP_SUFFIX, base_name
from tallsbi.study.settings.collect import CollectSettings, Training
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.sample import Methods
from tallsbi.study.settings.select import Candidate, SelectSettings
from tallsbi.study.settings.sized_sample import SizedSampleSettings
from tallsbi.study.settings.train import TrainSettings
from tallsbi.training.settings import TrainingSettings


def with_clipped(method: str) -> tuple[str, str]:
    """A method and its clipped variant."""
    return method, method + CLIP_SUFFIX


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the study under the resolved configuration."""

    config: Mapping[str, Any]
    name = ""

    @property
    def section(self) -> Mapping[str, Any]:
        return self.config[self.name]

    @property
    def fidelity(self) -> Mapping[str, Any]:
        return self.config["fidelity"]

    @cached_property
    def methods(self) -> dict[str, dict[str, Any]]:
        """The settings of each method that takes part in this part."""
        return self.methods_of(self.name)

    @property
    def runs(self) -> list[str]:
        """The methods, plain and clipped."""
        return [run for method in self.methods for run in with_clipped(method)]

    def methods_of(self, part: str) -> dict[str, dict[str, Any]]:
        """The same for any part; the settings are without the key `parts`."""
        return {
            name: {key: value for key, value in settings.items() if key != "parts"}
            for name, settings in self.config["methods"].items()
            if part in settings.get("parts", [part])
        }

    def with_shared(self, options: Mapping[str, Mapping[str, Any]], switch_over: float) -> Methods:
        """Methods with the settings that all share; `options` are the settings of each, time steps included."""
        ddim = self.config["ddim"]
        return Methods(
            options={name: dict(settings) for name, settings in options.items()},
            eta=dict(ddim["eta"]),
            eta_default=ddim["eta_default"],
            clip=self.config["clip"],
            switch_over=switch_over,
            prior_term=self.fidelity["fnpse_prior"],
        )


class TrainedPart(Part):
    """A part with networks."""

    @property
    @abstractmethod
    def problems(self) -> list[str]: ...

    @property
    @abstractmethod
    def n_train(self) -> list[int]:
        """Sizes of the training sets."""

    @property
    @abstractmethod
    def sampled(self) -> dict[str, tuple[str, ...]]:
        """The runs of every sampling job by its folder below the results, whatever the batch: the method plain,
        clipped, or both."""

    def folders(self, *forms: str) -> list[str]:
        """The folders of the jobs with exactly these outputs: `plain`, `clipped`, or both."""
        suffixes = {"plain": "", "clipped": CLIP_SUFFIX}
        form_suffixes = {suffixes[form] for form in forms}
        return [
            folder
            for folder, names in self.sampled.items()
            if {name.removeprefix(base_name(name)) for name in names} == form_suffixes
        ]

    def _folder(self, problem: str, n_train: int, variant: str, method: str) -> str:
        return f"{self.name}/{problem}/n_train~{n_train}/{variant}/{method}"

    @property
    @abstractmethod
    def shown_problems(self) -> list[str]:
        """The problems whose loss curves are shown: every candidate is trained for them."""

    @abstractmethod
    def candidates(self, problem: str) -> tuple[Candidate, ...]:
        """What distinguishes the networks that are trained on the same data."""

    @abstractmethod
    def published(self, problem: str) -> Candidate:
        """Learning rate and batch size of the network that sampled in the published runs."""

    @property
    def fits_budget(self) -> bool:
        """Whether validation chooses the learning rates, to suit the budget of this run, not the published choice."""
        return self.config["sbibm"]["training"]["choice"] == "validation"

    def sole_candidate(self, problem: str) -> Candidate:
        """The candidate where only one is trained: the published one, or its batch size with the largest learning rate
        where the budget decides."""
        published, rates = self.published(problem), self.section["training"]["learning_rates"]
        return replace(published, learning_rate=max(rates)) if self.fits_budget else published

    @abstractmethod
    def architecture(self) -> dict[str, Any]:
        """The sizes of the network that differ from the defaults."""

    def problem(self, name: str, *, prior: bool = False, truth: bool = False) -> ProblemSettings:
        """A problem with what the configuration decides about its prior or its true parameter."""
        return ProblemSettings(name)

    def train(
        self, problem: str, n_train: int, candidate: Candidate | None = None, **changes: Any
    ) -> TrainSettings:
        """The training of a candidate, or of the sole one; `changes` to the settings of the training."""
        shared = self.config["sbibm"]["training"]
        training = {
            "epochs": self.section["epochs"],
            **{key: shared[key] for key in ("ema_decay", "validation_share", "patience", "min_epochs")},
            "early_stopping": self.fidelity["early_stopping"],
            "layer_norm": self.fidelity["layer_norm"],
            **self.architecture(),
            **(candidate or self.sole_candidate(problem)).as_params(),
            **changes,
        }
        return TrainSettings.take(
            self.config,
            problem=self.problem(problem, prior=True),
            n_train=n_train,
            training=TrainingSettings.from_json(training),
        )

    def select(self, problem: str) -> SelectSettings:
        return SelectSettings(
            name=problem,
            rule="stated" if self.fidelity["early_stopping"] or self.fits_budget else "published",
            published=self.published(problem),
            candidates=self.candidates(problem),
        )

    def losses(self) -> CollectSettings:
        trainings = tuple(
            Training(problem, n_train, candidate)
            for problem in self.shown_problems
            for n_train in self.n_train
            for candidate in self.candidates(problem)
        )
        return CollectSettings("losses", trainings=trainings)

    def options(self, method: str, max_steps: int, **changes: Any) -> dict[str, Any]:
        """The settings of a method with at most `max_steps` time steps, and `changes` to those settings it has."""
        settings = self.methods[method]
        applicable = {key: value for key, value in changes.items() if key in settings}
        return {**settings, "steps": min(settings["steps"], max_steps), **applicable}

    def sampling(
        self, problem: str, options: Mapping[str, Mapping[str, Any]], **given: Any
    ) -> SizedSampleSettings:
        """A sampling job: `options` are the settings of each method; other fields are `given` or configured."""
        shared = {
            "problem": self.problem(problem, prior=True),
            "methods": self.with_shared(options, self.fidelity["uniform_switch"]),
            "samples": self.section["samples"],
            "bounds_factor": self.fidelity["uniform_bounds_factor"],
        }
        return SizedSampleSettings.take(given, shared, self.config)
