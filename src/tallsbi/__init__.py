"""tallsbi: sampling p(theta | x_1, ..., x_n) from a score network trained on single observations.

Notation, the same in every module: m = dim theta, d = dim x, n observations per dataset, S samples per
dataset, B datasets solved in one call, T time steps. alpha(t) is the squared signal coefficient of the
forward diffusion and upsilon(t) = 1 - alpha(t) its noise variance.

The names in `__all__` are the library for your own simulator (see docs/tutorial.md). They are imported on first use:
importing the package alone does not load torch, and the code of a job of the study does not include them.
Inside the package, and in the study, everything is imported from the module that defines it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallsbi.api.diagnosis import Diagnosis
    from tallsbi.api.horizon import Horizon
    from tallsbi.api.posterior import TallPosterior
    from tallsbi.api.refined import RefinedPosterior
    from tallsbi.priors.gaussian import Gaussian
    from tallsbi.priors.lognormal import LogNormal
    from tallsbi.priors.marginals import Marginals
    from tallsbi.priors.truncation import Truncated
    from tallsbi.priors.uniform import Uniform
    from tallsbi.scores.embeddings import CNN, GRU, MLP

__version__ = "0.1.0"
__all__ = [
    "CNN",
    "GRU",
    "MLP",
    "Diagnosis",
    "Gaussian",
    "Horizon",
    "LogNormal",
    "Marginals",
    "RefinedPosterior",
    "TallPosterior",
    "Truncated",
    "Uniform",
]

# Modules by strings: code fingerprints follow import statements only.
_MODULES = {
    "CNN": "tallsbi.scores.embeddings",
    "GRU": "tallsbi.scores.embeddings",
    "MLP": "tallsbi.scores.embeddings",
    "Diagnosis": "tallsbi.api.diagnosis",
    "Gaussian": "tallsbi.priors.gaussian",
    "Horizon": "tallsbi.api.horizon",
    "LogNormal": "tallsbi.priors.lognormal",
    "Marginals": "tallsbi.priors.marginals",
    "RefinedPosterior": "tallsbi.api.refined",
    "TallPosterior": "tallsbi.api.posterior",
    "Truncated": "tallsbi.priors.truncation",
    "Uniform": "tallsbi.priors.uniform",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        import importlib

        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
