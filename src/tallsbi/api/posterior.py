"""`TallPosterior`: from a prior and a simulator to p(theta | x_1, ..., x_n), for any n, without retraining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxtyping import Float
from torch import Tensor

from tallsbi.api import drawing, files, fitting, foreign_files, habits, inputs
from tallsbi.api.diagnosis import diagnose
from tallsbi.api.engine import Engine, NetworkEngine
from tallsbi.api.horizon import Horizon, measure, warn_beyond
from tallsbi.api.inference_data import inference_data
from tallsbi.api.inputs import METHOD
from tallsbi.api.layout import Layout
from tallsbi.api.module_score import ModuleEngine
from tallsbi.api.predict import predict
from tallsbi.api.priors import as_prior
from tallsbi.api.refine import refine
from tallsbi.api.refined import RefinedPosterior
from tallsbi.api.sbi_score import SbiEngine, unpacked
from tallsbi.api.training_range import TrainingRange
from tallsbi.priors.base import Prior, first_few
from tallsbi.schedule import NETWORK
from tallsbi.training.history import History, table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class TallPosterior:
    """Samples the posterior of any number of observations; made by `fit`, `load`, `from_sbi` or `from_network`.

    `history` has the training and validation loss of every epoch, `losses` the same as a table of pandas; both are
    None for a posterior that was not fitted in this process. `layout` says how observations become rows of the
    network; `x_dim` counts the numbers of one.
    `horizons`: up to how many observations each method was found trustworthy (see `horizon`).
    """

    engine: Engine
    x_dim: int
    training_range: TrainingRange | None = None
    history: History | None = None
    layout: Layout = None  # type: ignore[assignment]  # a vector of x_dim numbers
    conditions: Float[Tensor, "K c"] | None = None
    horizons: dict[str, Horizon] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.layout is None:
            object.__setattr__(self, "layout", Layout((self.x_dim,)))

    @property
    def losses(self) -> pd.DataFrame | None:
        return None if self.history is None else table(self.history)

    @property
    def prior(self) -> Prior:
        return self.engine.prior

    @property
    def theta_dim(self) -> int:
        return self.prior.dim

    fit = classmethod(fitting.fit)

    @classmethod
    def from_sbi(cls, estimator: Any, prior: Any = None, x: Any = None) -> TallPosterior:
        """A network trained by sbi's NPSE, with any of its processes, or FMPE, and the prior it was trained with.

        `estimator`: what `train` returns; or what `build_posterior` returns, which knows its prior. Embeddings are
        used as they are; observations have the shape they had in sbi, such as [n, time, channel].
        `x` [N, ...]: the observations it was trained on, to be warned of others far from them.
        """
        network, known_prior = unpacked(estimator)
        prior = known_prior if prior is None else prior
        if prior is None:
            raise ValueError(
                "from_sbi: a network does not know the prior it was trained with; give it as the second argument, or "
                "give the posterior that NPSE's build_posterior returns."
            )
        engine = SbiEngine.of(network, as_prior(prior))
        layout = Layout(engine.score.shape)
        return cls(engine, engine.x_dim, _training_range(x, layout), layout=layout)

    @classmethod
    def from_network(
        cls,
        network: Any,
        prior: Any,
        x_shape: int | Sequence[int],
        *,
        predicts: str = "noise",
        schedule: Any = NETWORK,
        theta_mean: Any = None,
        theta_std: Any = None,
        x_mean: Any = None,
        x_std: Any = None,
        t_min: float | None = None,
        t_max: float = 1.0,
        x: Any = None,
    ) -> TallPosterior:
        """A network of your own, network(theta_t [N, m], x [N, ...], t [N]) -> [N, m], with the prior it learned from.

        `predicts`: "noise" z, "score", "data" theta_0 or "velocity", of theta_t = mean(t) theta_0 + std(t) z.
        `schedule`: a `tallsbi.schedule.Schedule` (without, the paper's, alpha(t) = exp(-16 t^2)) or the pair of
        functions (mean, std), of times in [t_min, t_max]. `x_shape`: of one observation. The network sees
        (theta - theta_mean) / theta_std and (x - x_mean) / x_std, with theta in the prior's latent space (`to_latent`):
        itself for a Gaussian or a uniform prior. `x` [N, ...]: training observations, to be warned of others far away.
        """
        shape = (x_shape,) if isinstance(x_shape, int) else tuple(x_shape)
        engine = ModuleEngine.of(
            network,
            as_prior(prior),
            tuple(inputs.count(size, "x_shape") for size in shape),
            predicts=predicts,
            schedule=schedule,
            t_min=t_min,
            t_max=t_max,
            **{"theta_mean": theta_mean, "theta_std": theta_std, "x_mean": x_mean, "x_std": x_std},
        )
        return cls(engine, engine.x_dim, _training_range(x, Layout(shape)), layout=Layout(shape))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(habits.missing(name))

    def sample(
        self,
        x_obs: Any = None,
        n_samples: int = 1000,
        method: str = METHOD,
        *,
        settings: Mapping[str, Any] | None = None,
        clip: float = 3.0,
        seed: int = 0,
        progress: bool | None = None,
        device: Any = None,
        precision: str | None = None,
        **others: Any,
    ) -> Any:
        """Draws given all observations: [S, m] for one dataset [n, d], [B, S, m] for several [B, n, d], float64.

        A list of datasets of different n gives a list of draws. Observations are tensors, arrays, lists or data frames,
        of the shape the network was trained on.

        `method`: AUTO (GAUSS_PD for few observations, CLT for many), GAUSS, GAUSS_PD, JAC, JAC_PD, LANGEVIN, DET_GEF,
        TAMED, CLT or any other algorithm, each also with `-clip`, which keeps the state within [-clip, clip].
        `settings` replaces settings of the method, such as
        {"steps": 150}. A dataset's draws depend on its content, the method and the seed, not on the datasets
        beside it. Draws that are not finite are returned, with a warning. `device`, `precision`: as those of `fit`,
        whose values hold where they are not given.
        """
        habits.check_sample(x_obs, others)
        observed = self.layout.datasets(x_obs)
        samples = inputs.count(n_samples, "n_samples")
        algorithm = inputs.algorithm(method, settings, clip)
        engine = self.engine.placed(device, precision)
        if self.training_range is not None:
            for rows in observed.groups:
                self.training_range.warn(self.engine.scaled(rows))
        warn_beyond(self.horizons, method, max(rows.shape[1] for rows in observed.groups))
        draws = [
            drawing.draw(engine, algorithm, method, rows, samples, seed, progress) for rows in observed.groups
        ]
        return observed.hand_back(draws)

    def horizon(self, source: Any, method: str = METHOD, **options: Any) -> Horizon:
        """Up to how many observations draws can be trusted; `sample` then warns beyond it, and `save` keeps it.

        `source`: the simulator; or a pair (theta [B, m], x [B, n, d]) of parameters of the prior and observations.
        For n = 1, 3, 10, 30, ... up to `n_max` (100), `datasets` (100) datasets are solved with `n_samples` (20) draws
        each, until offsets or coverage fail. The simulator gives `datasets` times the last n observations, and more
        where that is not conclusive, but `simulations` at most; `batched` and `workers` are as those of `fit`.
        All other options are those of `sample`. `tallsbi.api.horizon` says what trustworthy means.
        """
        habits.known_options("horizon", measure, options)
        options = {"conditions": self.conditions, **options}
        self.horizons[method] = measure(self.engine, self.layout, source, method, **options)
        return self.horizons[method]

    def refine(
        self, x_obs: Any, simulator: Any, simulations: int = 20_000, **options: Any
    ) -> RefinedPosterior:
        """The posterior of one dataset [n, d], made right for many observations by simulations near it.

        Simulates `simulations` observations in all, around the posterior that `method` draws, learns the law of
        summaries of the whole dataset there, and checks the result on fresh datasets. If the check fails, there is a
        `NotRefined` warning, and the result is widened or is the posterior as it was; `report` says which. The result
        is for this dataset only. `method`, `settings`, `seed`, `device` etc.: as those of `sample`.
        """
        return refine(self, x_obs, simulator, simulations, **options)

    def plot(
        self, draws: Any, truth: Any = None, reference: Any = None, *, names: Sequence[str] | None = None
    ) -> Any:
        """A pair plot of draws [S, m] with 50 and 90 % intervals, as a figure of matplotlib.

        `truth` [m] is marked, `reference` [R, m], draws of another posterior, is drawn as lines.
        """
        from tallsbi.api.plots import pair_plot

        return pair_plot(draws, truth, reference, self.names_of(names))

    diagnose = diagnose
    inference_data = inference_data
    predict = predict

    def names_of(self, names: Sequence[str] | None = None) -> list[str]:
        """Names of the parameters: those given, those of the prior, or theta_0, theta_1, ..."""
        names = self.prior.coordinate_names if names is None else list(names)
        if len(names) != self.theta_dim or len(set(names)) != len(names):
            raise ValueError(f"names = {names}: give {self.theta_dim} different names, one per coordinate.")
        return names

    def __repr__(self) -> str:
        shape = self.layout.shape
        x = f"{shape[0]} number{'' if shape[0] == 1 else 's'}" if len(shape) == 1 else f"shape {shape}"
        condition = f" and {self.layout.condition} known" if self.layout.condition else ""
        return (
            f"TallPosterior of {self.theta_dim} parameters ({first_few(self.names_of())}) given observations of "
            f"{x}{condition}, {self.engine.described}"
        )

    def save(self, folder: str | Path) -> None:
        """Writes the network, its prior and all it takes to use them into a folder: safetensors and JSON."""
        if isinstance(self.engine, (ModuleEngine, SbiEngine)):
            return foreign_files.save(folder, self.engine, self.training_range, self.horizons)
        if not isinstance(self.engine, NetworkEngine):
            raise TypeError(f"a posterior with a {type(self.engine).__name__} has no form on disk.")
        files.save(folder, self.engine, self.training_range, self.layout, self.conditions, self.horizons)

    @classmethod
    def load(
        cls, folder: str | Path, embedding: Any = None, *, network: Any = None, schedule: Any = None
    ) -> TallPosterior:
        """Reads what `save` wrote; it then gives the same draws. A damaged or foreign folder gives a `DataError`.

        `embedding`: the torch module of `fit`, with any weights, where it was not a ready-made one: no code is stored.
        `network`: for a posterior made by `from_network` or `from_sbi`, the module built in the same way, for the same
        reason; `schedule` likewise, where it was a pair of functions.
        """
        if foreign_files.is_foreign(folder):
            foreign, training_range, horizons = foreign_files.load(folder, network, schedule)
            layout = Layout(foreign.score.shape)
            return cls(foreign, foreign.x_dim, training_range, layout=layout, horizons=horizons)
        engine, training_range, layout, conditions, horizons = files.load(folder, embedding)
        return cls(engine, layout.columns, training_range, None, layout, conditions, horizons)


def _training_range(x: Any, layout: Layout) -> TrainingRange | None:
    """That of training observations, where they are given."""
    return None if x is None else TrainingRange.of(layout.datasets(x, "x").groups[0].flatten(0, 1))
