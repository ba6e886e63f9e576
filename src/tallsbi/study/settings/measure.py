"""Settings of distances and tests."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings


@dataclass(frozen=True)
class MeasureSettings(Settings):
    """Distances to the references at `n_obs` of the samples of `runs`, each in equally many files.

    `c2st_samples_per_dim`: a C2ST with fewer samples per dimension is invalid.
    """

    seed: int
    projections: int
    c2st_backend: str
    c2st_samples_per_dim: int
    n_train: int
    n_obs: tuple[int, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True)
class CalibrationTestSettings(Settings):
    """l-C2ST with `classifiers` seeds and `permutations` of the null, for n observations."""

    n: int
    classifiers: int
    permutations: int
    normalise: bool


@dataclass(frozen=True)
class DiracSettings(Settings):
    """The true parameter, and the bounds of the prior, by parameter."""

    theta: dict[str, float]
    bounds: dict[str, tuple[float, float]]
