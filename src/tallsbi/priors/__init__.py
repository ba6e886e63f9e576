"""Priors in the space the diffusion runs in: Gaussian, log-normal and uniform."""

from tallsbi.priors.base import Prior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.uniform import Uniform

__all__ = ["Gaussian", "LogNormal", "Prior", "Uniform"]
