"""Settings of posterior draws with a trained network."""

from dataclasses import dataclass, replace
from typing import Any

from tallsbi.algorithms import SharedSettings, base_name, configured
from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.problem import ProblemSettings

DTYPES = ("float32", "float64")
KINDS = ("sets", "tall", "single", "calibration")


@dataclass(frozen=True)
class Methods(Settings):
    """The settings of each method by name, and those that all share: DDIM's churn by T, clipping, switch-over, and
    the prior's term in F-NPSE's sum of scores."""

    options: dict[str, dict[str, Any]]
    eta: dict[str, float]
    eta_default: float
    clip: float
    switch_over: float
    prior_term: str = "diffused"

    def algorithm(self, name: str, **changes: Any) -> Any:
        """The algorithm of a method, plain or `-clip`, with `changes` to its own settings."""
        eta = {int(steps): value for steps, value in self.eta.items()}
        shared = SharedSettings(self.clip, eta, self.eta_default, self.switch_over, self.prior_term)
        return configured(name, {**self.options[base_name(name)], **changes}, shared)

    def timed(self, name: str, samples: int, m: int, **changes: Any) -> Any:
        """The algorithm where times are compared: as many draws for a published covariance as `samples`, the paper's
        ratio.

        With few samples and many draws for the covariances, the time would be that of the covariances alone. Other
        estimators have as many draws at most; all need more than the dimension m.
        """
        algorithm = self.algorithm(name, **changes)
        configured_draws = getattr(algorithm, "cov_samples", None)
        if configured_draws is None:
            return algorithm
        published = getattr(algorithm, "covariances", "") == "published"
        draws = samples if published else min(samples, configured_draws)
        return replace(algorithm, cov_samples=max(draws, m + 1))


@dataclass(frozen=True)
class SampleSettings(Settings):
    """`samples` draws with each of `names` for every n of `n_obs`, in the precision and on the device given.

    `kind` says what the datasets are: the parameter `sets` of a task; the observations of the true parameter
    together (`tall`) or each alone (`single`); `calibration` pairs. `batch`: the batch of the datasets that is
    solved, such as 2-of-5. `bounds_factor`: on the bounds of a uniform prior. `learned_prior`: that of the network.
    `precision`: of the network's hidden products (`tallsbi.scores.precision`).
    """

    seed: int
    device: str
    dtype: str
    problem: ProblemSettings
    n_train: int
    names: tuple[str, ...]
    methods: Methods
    kind: str
    samples: int
    n_obs: tuple[int, ...]
    bounds_factor: float
    batch: str | None = None
    learned_prior: bool = False
    precision: str = "float32"

    def __post_init__(self) -> None:
        self.require("dtype", self.dtype in DTYPES, f"one of {', '.join(DTYPES)}")
        self.require("kind", self.kind in KINDS, f"one of {', '.join(KINDS)}")
        self.require("samples", self.samples >= 1, "at least 1")
        self.require("n_obs", len(self.n_obs) > 0 and min(self.n_obs) >= 1, "numbers of at least 1")
        self.require("bounds_factor", self.bounds_factor > 0, "positive")
