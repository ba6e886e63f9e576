"""Settings of the toy problems (section 4.1): the models behind them, samples, distances, times."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.sample import Methods


@dataclass(frozen=True)
class ToyModel(Settings):
    """Correlation of the Gaussian noise; mean ~ U(-wide_mean, wide_mean) and std ~ U(*wide_std) of wide priors.

    `scales` and `spread` give the variances of the mixture's components.
    """

    correlation: float
    wide_mean: float
    wide_std: tuple[float, float]
    scales: tuple[float, float]
    spread: tuple[float, float]


@dataclass(frozen=True)
class ToyCell(Settings):
    """One problem of the study in m dimensions, with the datasets of `seeds` seeds."""

    model: ToyModel
    problem: str
    m: int
    seeds: int


@dataclass(frozen=True)
class ToyReferenceSettings(Settings):
    """References that suffice for `samples` draws, for every n; `chains` where no exact method exists."""

    seed: int
    cell: ToyCell
    samples: int
    n_obs: tuple[int, ...]
    chains: ChainSettings


@dataclass(frozen=True)
class ToySampleSettings(Settings):
    """`samples` draws with one method in T = `steps` time steps, for every n; `noise`: how far the score is off."""

    seed: int
    cell: ToyCell
    device: str
    dtype: str
    noise: float
    name: str
    steps: int
    methods: Methods
    samples: int
    n_obs: tuple[int, ...]


@dataclass(frozen=True)
class ToyMeasureSettings(Settings):
    """Distances at `n_obs`; the distance of a reference to itself is averaged over `self_distances` pairs."""

    seed: int
    projections: int
    self_distances: int
    samples: int
    n_obs: tuple[int, ...]


@dataclass(frozen=True)
class ToyTimeSettings(Settings):
    """`repeats` rounds through all n of `n_obs`, T of `steps` and methods."""

    seed: int
    cell: ToyCell
    device: str
    dtype: str
    noise: float
    methods: Methods
    samples: int
    n_obs: tuple[int, ...]
    steps: tuple[int, ...]
    repeats: int


@dataclass(frozen=True)
class PedagogicalSettings(Settings):
    """The two-dimensional illustration: the true parameter and `samples` draws for every n."""

    seed: int
    correlation: float
    theta: tuple[float, float]
    n_obs: tuple[int, ...]
    samples: int
    methods: Methods
