"""Exponential moving average of the weights.

average <- decay * average + (1 - decay) * weights     after every batch; the first update copies.
"""

import copy

from jaxtyping import Float
from torch import Tensor

from tallsbi.scores.network import ScoreNetwork
from tallsbi.training.gradient import flatten


class Average:
    """The average of a flattened network; `network` evaluates with it and `flat` holds it as one vector."""

    def __init__(self, network: ScoreNetwork, decay: float) -> None:
        self.network = copy.deepcopy(network).requires_grad_(False)
        self.flat, self.decay = flatten(self.network), decay
        self.updates = 0

    def update(self, weights: Float[Tensor, "P"]) -> None:
        if self.updates == 0:
            self.flat.copy_(weights)
        else:
            self.flat.lerp_(weights, 1 - self.decay)
        self.updates += 1
