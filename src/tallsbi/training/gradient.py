"""Loss and gradient of the denoising loss, written out for multilayer perceptrons.

All parameters lie in one vector and so does the gradient; the network's own parameters are views of it. The
optimiser and the weight average then take one operation each, and backpropagation writes every layer's
gradient where it belongs, in buffers that all batches share. A step of the published network costs little
more than its matrix products; the same through autograd costs a quarter more.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tallsbi.scores.network import LAYER_NORM_EPS, MLP, ScoreNetwork
from tallsbi.training.loss import Rows


def flatten(network: nn.Module) -> Float[Tensor, "P"]:
    """One vector with all parameters; from now on the network's parameters are views of it."""
    flat = parameters_to_vector(network.parameters()).detach().clone()
    vector_to_parameters(flat, network.parameters())
    return flat


class Gradient(ABC):
    """Returns the loss of rows and writes its gradient into `flat`, a vector with the layout of the parameters."""

    def __init__(self, network: ScoreNetwork) -> None:
        parameters = list(network.parameters())
        sizes = [parameter.numel() for parameter in parameters]
        self.network, self.flat = network, parameters[0].new_zeros(sum(sizes))
        views = zip(parameters, self.flat.split(sizes), strict=True)
        self._views = [(parameter, part.view_as(parameter)) for parameter, part in views]

    @abstractmethod
    def __call__(self, rows: Rows) -> Float[Tensor, ""]: ...


class AutogradGradient(Gradient):
    """For any flattened network."""

    def __init__(self, network: ScoreNetwork) -> None:
        super().__init__(network)
        # Backpropagation adds in place to gradients that exist: they stay views of one vector.
        for parameter, part in self._views:
            parameter.grad = part

    @torch.enable_grad()
    def __call__(self, rows: Rows) -> Float[Tensor, ""]:
        self.flat.zero_()
        predicted = self.network.with_features(*self.network.architecture.split(rows.inputs))
        loss = (predicted - rows.noise).square().mean()
        loss.backward()
        return loss.detach()


class PerceptronGradient(Gradient):
    """For a flattened network of perceptrons, and batches of at most `batch` rows."""

    def __init__(self, network: ScoreNetwork, batch: int) -> None:
        super().__init__(network)
        views = {id(parameter): part for parameter, part in self._views}

        def backprop(part: nn.Module) -> _Backprop | None:
            if isinstance(part, nn.Identity):
                return None
            if not isinstance(part, MLP):
                raise TypeError(
                    f"{type(part).__name__} is no perceptron; use AutogradGradient for this network."
                )
            return _Backprop(part, views, batch)

        self._trunk = _Backprop(network.trunk, views, batch)
        self._theta, self._x = backprop(network.theta_embedding), backprop(network.x_embedding)

    @torch.no_grad()
    def __call__(self, rows: Rows) -> Float[Tensor, ""]:
        residual = self._trunk.forward(self._embed(rows.inputs)) - rows.noise
        loss = residual.square().mean()
        embedded = self._theta is not None or self._x is not None
        back = self._trunk.backward(residual.mul_(2 / residual.numel()), to_input=embedded)
        if back is not None:
            theta, x, _ = back.split(self.network.architecture.parts, dim=1)
            for part, gradient in ((self._theta, theta), (self._x, x)):
                if part is not None:
                    part.backward(gradient, to_input=False)
        return loss

    def _embed(self, inputs: Float[Tensor, "b k"]) -> Float[Tensor, "b j"]:
        if self._theta is None and self._x is None:
            return inputs
        theta, x, features = self.network.architecture.split(inputs)
        theta = theta if self._theta is None else self._theta.forward(theta)
        return torch.cat([theta, x if self._x is None else self._x.forward(x), features], dim=1)


class _Backprop:
    """Forward and backward pass of one perceptron, with activations and errors in fixed buffers.

    The fewer buffers, the more of a step stays in cache: errors alternate between two of them.
    """

    def __init__(self, mlp: MLP, gradients: dict[int, Tensor], batch: int) -> None:
        self.layer_norm = mlp.layer_norm
        self.weights = [layer.weight.detach() for layer in mlp.linear]
        self.biases = [layer.bias.detach() for layer in mlp.linear]
        self.weight_gradients = [gradients[id(layer.weight)] for layer in mlp.linear]
        self.bias_gradients = [gradients[id(layer.bias)] for layer in mlp.linear]
        self._outputs = [bias.new_empty(batch, len(bias)) for bias in self.biases]
        size = batch * max(len(bias) for bias in self.biases)
        self._errors = [self.biases[0].new_empty(size) for _ in range(2)]
        self._scratch = self.biases[0].new_empty(size)
        self._inputs: list[Tensor] = []
        self._normalised: list[tuple[Tensor, Tensor]] = []

    def forward(self, h: Float[Tensor, "b i"]) -> Float[Tensor, "b o"]:
        rows, last = len(h), len(self.weights) - 1
        self._inputs, self._normalised = [], []
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            self._inputs.append(h)
            h = torch.addmm(bias, h, weight.mT, out=self._outputs[i][:rows])
            if i == last:
                break
            h.relu_()
            if self.layer_norm:
                active = h.sign()  # normalised activations no longer show which units these are
                h.sub_(h.mean(1, keepdim=True))
                scale = (h.square().mean(1, keepdim=True) + LAYER_NORM_EPS).rsqrt_()
                h.mul_(scale)
                self._normalised.append((scale, active))
        return h

    def backward(self, error: Float[Tensor, "b o"], *, to_input: bool) -> Float[Tensor, "b i"] | None:
        """Parameter gradients from the output's error; on request the error of the input."""
        for i in reversed(range(len(self.weights))):
            h = self._inputs[i]
            torch.mm(error.mT, h, out=self.weight_gradients[i])
            torch.sum(error, 0, out=self.bias_gradients[i])
            if i == 0:
                break
            below = self._errors[i % 2][: h.numel()].view_as(h)
            error = torch.mm(error, self.weights[i], out=below)
            if self.layer_norm:
                # h = (u - mean u) / s: the error of u is (e - mean e - h mean(h e)) / s.
                scale, active = self._normalised[i - 1]
                inner = (h * error).mean(1, keepdim=True)
                error.sub_(error.mean(1, keepdim=True)).sub_(h * inner).mul_(scale)
            else:
                active = torch.sign(h, out=self._scratch[: h.numel()].view_as(h))
            error.mul_(active)
        return error @ self.weights[0] if to_input else None
