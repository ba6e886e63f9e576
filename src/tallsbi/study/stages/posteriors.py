"""Reference posteriors of one task as one dataset, with all that is needed to use them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tallsbi.study.settings.time import ManySettings
from tallsbi.study.stages.many import references_at_every_n
from tallsbi.study.stages.simulate import observations
from tallsbi.study.tasks import simulator

if TYPE_CHECKING:
    import xarray as xr


def reference_posteriors(settings: ManySettings, progress: Callable[..., Iterable[Any]]) -> xr.Dataset:
    """Draws [set, n, sample, parameter] with their certificates, the observations and the true parameters.

    The observations are those of the study: the first `n` of each set belong to the draws at that n.
    """
    task = simulator(settings.problem)
    observed = observations(task, settings.sets, max(settings.n_obs), settings.seed)
    draws = references_at_every_n(settings, observed, progress).transpose("set", "n", "sample", ...)
    for variable in draws.variables.values():
        variable.attrs = {bound: float(value) for bound, value in variable.attrs.items()}
    draws["theta"] = draws["theta"].astype(np.float32)
    draws["x"] = (("set", "observation", "feature"), observed["x"].values.astype(np.float32))
    draws["true_theta"] = observed["theta"]
    return draws.drop_attrs(deep=False).assign_attrs(task=task.name)
