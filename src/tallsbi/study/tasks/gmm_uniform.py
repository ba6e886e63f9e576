"""GMM with a uniform prior: the mixture of `gmm` under theta ~ U(-10, 10)^10."""

from __future__ import annotations

from functools import cached_property

import torch

from tallsbi.priors.base import Prior
from tallsbi.priors.uniform import Uniform
from tallsbi.study.tasks.gmm import DIM, Mixture

BOUND = 10.0


class GMMUniform(Mixture):
    name = "gmm_uniform"
    label = "GMM uniform"

    @cached_property
    def prior(self) -> Prior:
        return Uniform(torch.full((DIM,), -BOUND), torch.full((DIM,), BOUND))


TASK = GMMUniform()
