"""Adam (Kingma and Ba, 2015) on one flat vector of weights, by torch's fused kernel.

The kernel is the one behind `torch.optim.Adam(fused=True)`, with the same bytes. The optimiser class around it
loads torch's compiler when it is made, which takes longer than a small training.
"""

import torch
from jaxtyping import Float
from torch import Tensor

_BETAS, _EPS = (0.9, 0.999), 1e-8


class Adam:
    """Moments of the gradient and the number of steps taken, all of them tensors."""

    def __init__(self, weights: Float[Tensor, "P"], learning_rate: float) -> None:
        self.weights, self.learning_rate = weights, learning_rate
        self.state = {
            "step": torch.zeros((), dtype=torch.float32, device=weights.device),
            "exp_avg": torch.zeros_like(weights),
            "exp_avg_sq": torch.zeros_like(weights),
        }

    @torch.no_grad()
    def step(self, gradient: Float[Tensor, "P"]) -> None:
        """Moves the weights in place."""
        state = self.state
        state["step"] += 1
        torch.ops.aten._fused_adam_(
            [self.weights],
            [gradient],
            [state["exp_avg"]],
            [state["exp_avg_sq"]],
            [],
            [state["step"]],
            lr=self.learning_rate,
            beta1=_BETAS[0],
            beta2=_BETAS[1],
            weight_decay=0.0,
            eps=_EPS,
            amsgrad=False,
            maximize=False,
        )

    def restore(self, state: dict[str, Tensor]) -> None:
        for key, value in self.state.items():
            value.copy_(state[key])
