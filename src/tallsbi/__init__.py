"""tallsbi: sampling p(theta | x_1, ..., x_n) from a score network trained on single observations.

Notation, the same in every module: m = dim theta, d = dim x, n observations per dataset, S samples per
dataset, B datasets solved in one call, T time steps. alpha(t) is the squared signal coefficient of the
forward diffusion and upsilon(t) = 1 - alpha(t) its noise variance.

`tallsbi.TallPosterior` is the way in for a simulator of one's own (see docs/tutorial.md).
"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`TallPosterior` on first use: importing the package alone must stay free of torch.

    The module is named by a string, so that the code of a job of the study does not include it.
    """
    if name == "TallPosterior":
        import importlib

        return importlib.import_module("tallsbi.api").TallPosterior
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "TallPosterior"])
