"""Posteriors before and after `TallPosterior.refine`, against certified references (beyond the paper).

Distances are taken in the space where the prior is Gaussian or uniform, in standard deviations of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.api.posterior import TallPosterior
from tallsbi.api.refine import refined_around
from tallsbi.api.refined import KEPT
from tallsbi.api.surroundings import Surroundings
from tallsbi.metrics.sliced import baseline, sliced_wasserstein
from tallsbi.metrics.validity import is_lost, lost_share, usable_draws
from tallsbi.random import integer_seed, numpy_generator, torch_generator
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.columns.sbibm import REFINED
from tallsbi.study.settings.refine import RefineSettings
from tallsbi.study.stages.sample import network_engine
from tallsbi.study.tasks import simulator

if TYPE_CHECKING:
    import xarray as xr

BEFORE, AFTER = "before", "after"


def refined_table(
    settings: RefineSettings,
    saved: SavedNetwork,
    observations: xr.Dataset,
    references: Mapping[int, xr.Dataset],
    progress: Callable = iter,
) -> pd.DataFrame:
    """Two rows per n and set, `before` and `after`. A refinement that was refused has the same draws in both."""
    (method,) = settings.methods.options
    problem, algorithm = simulator(settings.problem), settings.methods.algorithm(method)
    stream = (*problem.stream, "refined", settings.n_train)
    engine = network_engine(saved, problem, settings)
    posterior = TallPosterior(engine, problem.dim_x)
    rows: list[dict[str, Any]] = []
    for n, index in progress(list(product(settings.n_obs, range(settings.sets)))):
        x = torch.from_numpy(observations["x"].values[index][None, :n])
        generator = torch_generator(settings.seed, *stream, method, n, index, device=settings.device)
        before = engine.sample(algorithm, x, settings.samples, [generator]).theta[0]
        noise = numpy_generator(settings.seed, *stream, n, index, "simulator")

        def simulated(
            theta: Float[Tensor, "N m"], noise: np.random.Generator = noise
        ) -> Float[Tensor, "N d"]:
            return torch.from_numpy(problem.simulate(theta.double().numpy(), noise))

        seed = integer_seed(settings.seed, *stream, n, index)
        surroundings = Surroundings(posterior, x.double(), simulated, algorithm, method, seed)
        refined = refined_around(surroundings, settings.simulations)
        report = refined.report
        after = before if report.outcome == KEPT else refined.sample(settings.samples, seed=seed)
        shared = {
            "task": settings.problem.name,
            "n_train": settings.n_train,
            "n": n,
            "set": index,
            "method": method,
            "steps": algorithm.steps,
            "samples": settings.samples,
            "outcome": report.outcome,
            "simulations": report.simulations,
            "widening": report.widening,
            "z_before": report.z_before,
            "z_after": report.z_after,
            "reference_passed": bool(references[n]["passed"].values[index]),
        }
        truth = torch.from_numpy(references[n]["theta"].values[index]).double()
        compare = _Comparison(settings, problem.prior, truth, (*stream, n, index))
        rows += [
            {**shared, "state": state, **compare(theta)}
            for state, theta in ((BEFORE, before), (AFTER, after))
        ]
    return REFINED.frame(rows)


class _Comparison:
    """Compares draws with those of a reference, with the same directions and pairs for all draws."""

    def __init__(
        self, settings: RefineSettings, prior: Any, truth: Float[Tensor, "R m"], names: tuple[Any, ...]
    ) -> None:
        self.settings, self.prior = settings, prior
        latent = prior.to_latent(truth).double().numpy()
        self.mean, self.std = latent.mean(0), latent.std(0, ddof=1)
        self.truth = (latent - self.mean) / self.std
        self.directions = integer_seed(settings.seed, *names, "directions") % 2**32
        rng = numpy_generator(settings.seed, *names, "self-distance")
        sizes = settings.samples, settings.self_distances, settings.projections
        self.sw_self = baseline(self.truth, *sizes, rng)[0] if len(truth) >= 2 * settings.samples else np.nan

    def __call__(self, theta: Float[Tensor, "S m"]) -> dict[str, float]:
        """Offset of the means (mean over coordinates), ratio of the spreads (geometric mean), sliced distance."""
        moments = (part[0].numpy() for part in self.prior.moments())
        kept = usable_draws(theta.double().numpy(), *moments)
        measured = {"lost_share": lost_share(kept), "sw_self": self.sw_self}
        if is_lost(measured["lost_share"]):
            return measured | {"offset": np.nan, "spread": np.nan, "sw": np.nan}
        latent = self.prior.to_latent(theta.double()).numpy()[kept]
        standard = (latent - self.mean) / self.std
        size = min(len(standard), len(self.truth))
        return measured | {
            "offset": float(np.abs(standard.mean(0)).mean()),
            "spread": float(np.exp(np.log(standard.std(0, ddof=1)).mean())),
            "sw": sliced_wasserstein(
                standard[:size], self.truth[:size], self.settings.projections, self.directions
            )[0],
        }
