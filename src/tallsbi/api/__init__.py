"""The library for anyone's simulator: fit a network on single observations, sample the posterior of many."""

from tallsbi.api.diagnosis import Diagnosis
from tallsbi.api.posterior import TallPosterior

__all__ = ["Diagnosis", "TallPosterior"]
