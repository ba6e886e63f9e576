"""The Jansen-Rit problem (section 4.3) in three and in four dimensions."""

from functools import cached_property, partial
from typing import Any

from tallsbi.study.parts.part import TrainedPart, with_clipped
from tallsbi.study.settings.batch import share
from tallsbi.study.settings.measure import CalibrationTestSettings, DiracSettings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.select import Candidate
from tallsbi.study.settings.simulate import ObserveSettings, SimulateSettings
from tallsbi.study.settings.sized_sample import SizedSampleSettings

EMBEDDING = (64, 64, 64, 32)
NOISELESS_COVARIANCES = {"covariances": "whitened", "cov_steps": 30}  # of GAUSS for calibration draws
SINGLE_DRAWS = 1000  # given each single observation: as many as a density estimate can show


class JrnmmPart(TrainedPart):
    name = "jrnmm"

    @property
    def problems(self) -> list[str]:
        return ["3d", "4d"]

    @property
    def shown_problems(self) -> list[str]:
        return self.problems

    @property
    def n_train(self) -> list[int]:
        return [self.section["simulations"]]

    @property
    def n_obs(self) -> list[int]:
        return self.section["n_obs"]

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Of the uniform prior, by parameter."""
        bounds = {**self.section["bounds"], "sigma": self.fidelity["jrnmm_sigma"]}
        return {name: (low, high) for name, (low, high) in bounds.items()}

    @property
    def calibration(self) -> dict[str, Any]:
        return self.section["lc2st"]

    @property
    def pair_batches(self) -> int:
        """Into how many jobs the calibration pairs are split."""
        return min(self.calibration["batches"], self.calibration["calibration"])

    @property
    def n_obs_batches(self) -> int:
        """Into how many jobs the numbers of observations are split."""
        return min(self.section["batches"], len(self.n_obs))

    @cached_property
    def sampled(self) -> dict[str, tuple[str, ...]]:
        jobs = {
            self._folder(problem, size, variant, method): with_clipped(method)
            for problem in self.problems
            for size in self.n_train
            for variant in ("samples", "calibration")
            for method in self.methods
        }
        single = {
            self._folder(problem, size, "single", "GAUSS"): ("GAUSS",)
            for problem in self.problems
            for size in self.n_train
        }
        return jobs | single

    def problem(self, name: str, *, prior: bool = False, truth: bool = False) -> ProblemSettings:
        return ProblemSettings(
            name, bounds=self.bounds if prior else None, theta=dict(self.section["theta"]) if truth else None
        )

    def published(self, problem: str) -> Candidate:
        training = self.section["training"]
        return Candidate(training["learning_rate"], training["batch_size"])

    def candidates(self, problem: str) -> tuple[Candidate, ...]:
        training = self.section["training"]
        return tuple(Candidate(rate, training["batch_size"]) for rate in training["learning_rates"])

    def architecture(self) -> dict[str, Any]:
        embedding = EMBEDDING if self.fidelity["jrnmm_embedding"] else ()
        return {
            "hidden": tuple(self.fidelity["jrnmm_hidden"]),
            "frequencies": self.fidelity["jrnmm_frequencies"],
            "theta_embedding": embedding,
            "x_embedding": embedding,
        }

    def simulate(self, problem: str, kind: str) -> SimulateSettings:
        """The training set; the only `kind` is `simulations`."""
        return SimulateSettings(
            self.config["seed"], self.problem(problem, prior=True), self.section["simulations"]
        )

    def observe(self, problem: str, kind: str) -> ObserveSettings:
        """`observations` of the true parameter, or `calibration` pairs with as many as the largest n."""
        seed = self.config["seed"]
        if kind == "calibration":
            sizes = self.calibration["calibration"], max(self.n_obs)
            return ObserveSettings(seed, self.problem(problem, prior=True), *sizes, calibration=True)
        return ObserveSettings(seed, self.problem(problem, truth=True), 1, self.section["observations"])

    def sample(
        self, problem: str, n_train: int, variant: str, method: str, batch: str
    ) -> SizedSampleSettings:
        """`samples` for a batch of the n, `calibration` for a batch of the pairs, `single` for single observations."""
        options = partial(self.options, method, self.section["max_steps"])
        if variant == "calibration":
            # With as many samples as elsewhere the covariances of GAUSS would dominate the whole study. With few
            # samples they are right only without noise (docs/jrnmm.md).
            settings = options(cov_samples=self.calibration["cov_samples"])
            settings |= NOISELESS_COVARIANCES if "covariances" in settings else {}
            fields = {"names": with_clipped(method), "n_obs": self.n_obs, "samples": 1, "batch": batch}
            return self.sampling(problem, {method: settings}, kind=variant, n_train=n_train, **fields)
        if variant == "single":
            samples = min(self.section["samples"], SINGLE_DRAWS)
            fields = {"kind": "single", "names": (method,), "n_obs": [1], "samples": samples}
        else:
            n_obs = self.n_obs[share(len(self.n_obs), batch, "n")]
            fields = {"kind": "tall", "names": with_clipped(method), "n_obs": n_obs}
        return self.sampling(problem, {method: options()}, n_train=n_train, **fields)

    def test_calibration(self, n: int) -> CalibrationTestSettings:
        return CalibrationTestSettings.take(self.calibration, n=n)

    def dirac(self) -> DiracSettings:
        return DiracSettings(dict(self.section["theta"]), self.bounds)
