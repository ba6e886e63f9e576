"""The gradient of several conditional Gaussians of one shape at once, written out.

Small matrix products wait for the machine more than they compute. The networks of one stack take their products
together: a step of four costs 0.75 of four steps on one core, and two cores share it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tallsbi.summaries.regression import LARGEST_LOG_CHANGE, ConditionalGaussian, below_diagonal


class Stack:
    """`weights` has the parameters of one network in each row, and the networks' own ones become views of it.

    `gradient` has the same layout; calling the stack fills it with the gradients of the networks' mean losses.
    """

    def __init__(self, networks: Sequence[ConditionalGaussian]) -> None:
        self.weights = torch.stack(
            [parameters_to_vector(network.parameters()).detach() for network in networks]
        )
        self.gradient = torch.zeros_like(self.weights)
        for row, network in zip(self.weights, networks, strict=True):
            vector_to_parameters(row, network.parameters())
        first = networks[0]
        self._free_entries = first.free_entries
        self._log_diagonal = torch.stack([network.log_diagonal for network in networks])[:, None]
        self._to_row, self._from_column = below_diagonal(first.targets, self.weights)
        parts, gradients, start = {}, {}, 0
        for name, parameter in first.named_parameters():
            place = slice(start, start := start + parameter.numel())
            shape = parameter.shape if parameter.dim() == 2 else (1, *parameter.shape)
            parts[name], gradients[name] = (
                matrix[:, place].view(len(networks), *shape) for matrix in (self.weights, self.gradient)
            )
        names = [f"layers.{number}" for number in range(len(first.layers))]
        self._layers = [_Linear(parts, gradients, name) for name in names]
        self._skip = _Linear(parts, gradients, "skip")
        self._off_diagonal, self._off_diagonal_gradient = parts["off_diagonal"], gradients["off_diagonal"]

    @torch.no_grad()
    def __call__(self, u: Float[Tensor, "K b i"], y: Float[Tensor, "K b k"]) -> None:
        before, inputs = [], [u]  # of every layer: what its activation was given, and what it gave
        for layer in self._layers[:-1]:
            before.append(layer(inputs[-1]))
            inputs.append(F.silu(before[-1]))
        k = y.shape[-1]
        shift, log_change, free = self._layers[-1](inputs[-1]).split([k, k, self._free_entries], 2)
        bounded = torch.tanh(log_change / LARGEST_LOG_CHANGE)
        diagonal = (self._log_diagonal + LARGEST_LOG_CHANGE * bounded).exp()
        off_diagonal = self._off_diagonal + free if self._free_entries else self._off_diagonal
        residual = y - self._skip(u) - shift
        entering = residual @ self._from_column
        standardised = diagonal * (residual + (off_diagonal * entering) @ self._to_row)

        # Backwards, from half the square of the standardised residual minus the logarithm of the diagonal.
        of_product = standardised * diagonal / u.shape[1]
        of_log = (standardised.square() - 1) / u.shape[1]
        leaving = of_product @ self._to_row.mT
        of_off_diagonal = leaving * entering
        of_shift = -of_product - (leaving * off_diagonal) @ self._from_column.mT
        torch.sum(of_off_diagonal, 1, keepdim=True, out=self._off_diagonal_gradient)
        self._skip.backward(u, of_shift)
        error = torch.cat([of_shift, of_log * (1 - bounded.square())], 2)
        if self._free_entries:
            error = torch.cat([error, of_off_diagonal], 2)
        for number in reversed(range(len(self._layers))):
            layer = self._layers[number]
            layer.backward(inputs[number], error)
            if number:
                error = torch.ops.aten.silu_backward(torch.bmm(error, layer.weight), before[number - 1])

    def clip(self, largest: float) -> None:
        """Makes no network's gradient longer than `largest`."""
        norm = torch.linalg.vector_norm(self.gradient, dim=1, keepdim=True)
        self.gradient.mul_((largest / (norm + 1e-6)).clamp_max(1.0))


class _Linear:
    def __init__(self, parts: dict[str, Tensor], gradients: dict[str, Tensor], name: str) -> None:
        self.weight, self._bias = parts[f"{name}.weight"], parts[f"{name}.bias"]
        self._of_weight, self._of_bias = gradients[f"{name}.weight"], gradients[f"{name}.bias"]

    def __call__(self, h: Float[Tensor, "K b i"]) -> Float[Tensor, "K b o"]:
        return torch.baddbmm(self._bias, h, self.weight.mT)

    def backward(self, h: Float[Tensor, "K b i"], error: Float[Tensor, "K b o"]) -> None:
        torch.bmm(error.mT, h, out=self._of_weight)
        torch.sum(error, 1, keepdim=True, out=self._of_bias)
