"""The score network: a multilayer perceptron that predicts the noise (section 2.2 and appendix E of the paper).

    eps(theta_t, x, t) = MLP([theta_t, x, cos(pi i t), sin(pi i t) for i = 1..f]),   score = -eps / sigma(t)

theta_t [m] and x [d] are normalised (see `tallsbi.scores.normaliser`); hidden layers are ReLU. `published`
networks have no layer normalisation, `stated` ones have it after every ReLU of the trunk, without gain and
shift of its own: the linear layer that follows holds both. theta and x may each pass through an embedding
network first (the Jansen-Rit model). Weights and biases start uniform in +-1/sqrt(fan in).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from tallsbi.storage.plain import from_json, to_json

LAYER_NORM_EPS = 1e-5


@dataclass(frozen=True)
class Architecture:
    """Sizes of a score network; `*_embedding` lists the widths of an embedding, its output last."""

    theta_dim: int
    x_dim: int
    hidden: tuple[int, ...] = (256, 256, 256)
    frequencies: int = 3
    layer_norm: bool = False
    theta_embedding: tuple[int, ...] = ()
    x_embedding: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        sizes = (self.theta_dim, self.x_dim, *self.hidden, *self.theta_embedding, *self.x_embedding)
        if not self.hidden or min(sizes) < 1 or self.frequencies < 0:
            raise ValueError(
                f"{self}: every size must be at least 1, `hidden` must name at least one layer, and "
                "`frequencies` cannot be negative."
            )

    @property
    def parts(self) -> tuple[int, int, int]:
        """Widths of the theta, x and t parts of the trunk's input."""
        theta = self.theta_embedding[-1] if self.theta_embedding else self.theta_dim
        x = self.x_embedding[-1] if self.x_embedding else self.x_dim
        return theta, x, 2 * self.frequencies

    def split(self, rows: Float[Tensor, "N k"]) -> tuple[Tensor, ...]:
        """The theta, x and t parts of the network's inputs, side by side in a row."""
        return rows.tensor_split((self.theta_dim, self.theta_dim + self.x_dim), dim=1)

    def to_json(self) -> dict[str, Any]:
        return to_json(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Architecture:
        return from_json(cls, values, "architecture")


def time_features(t: Float[Tensor, "*b"], frequencies: int) -> Float[Tensor, "*b f2"]:
    """cos(pi i t) for i = 1..f, then sin(pi i t) for i = 1..f."""
    angles = t[..., None] * (math.pi * torch.arange(1, frequencies + 1, dtype=t.dtype, device=t.device))
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


class MLP(nn.Module):
    """Linear layers with ReLU (and optionally layer normalisation) between them."""

    def __init__(self, widths: Sequence[int], layer_norm: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.layer_norm = layer_norm
        layers = []
        for fan_in, fan_out in pairwise(widths):
            # Construction draws weights from the global random stream; to skip that would load a symbolic algebra.
            with torch.random.fork_rng(devices=[]):
                layer = nn.Linear(fan_in, fan_out)
            bound = 1 / math.sqrt(fan_in)
            for parameter in (layer.weight, layer.bias):
                nn.init.uniform_(parameter, -bound, bound, generator=generator)
            layers.append(layer)
        self.layers = nn.ModuleList(layers)

    @property
    def linear(self) -> list[nn.Linear]:
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def forward(self, h: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        for layer in self.layers[:-1]:
            h = F.relu(layer(h), inplace=True)
            if self.layer_norm:
                h = F.layer_norm(h, h.shape[-1:], eps=LAYER_NORM_EPS)
        return self.layers[-1](h)


class ScoreNetwork(nn.Module):
    """Predicts the noise in theta_t; `generator` draws the initial weights (None: seed 0, to be loaded over)."""

    def __init__(self, architecture: Architecture, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0) if generator is None else generator
        self.architecture = a = architecture
        self.theta_embedding = (
            MLP((a.theta_dim, *a.theta_embedding), False, generator) if a.theta_embedding else nn.Identity()
        )
        self.x_embedding = self._embedding_of_x(generator)
        self.trunk = MLP((sum(a.parts), *a.hidden, a.theta_dim), a.layer_norm, generator)

    def _embedding_of_x(self, generator: torch.Generator) -> nn.Module:
        a = self.architecture
        return MLP((a.x_dim, *a.x_embedding), False, generator) if a.x_embedding else nn.Identity()

    def forward(
        self, theta: Float[Tensor, "*b m"], x: Float[Tensor, "*b d"], t: Float[Tensor, "*b"]
    ) -> Float[Tensor, "*b m"]:
        return self.with_features(theta, x, time_features(t, self.architecture.frequencies))

    def with_features(
        self, theta: Float[Tensor, "*b m"], x: Float[Tensor, "*b d"], features: Float[Tensor, "*b f2"]
    ) -> Float[Tensor, "*b m"]:
        """The same with the time features given, which training makes for a whole epoch at once."""
        return self.trunk(torch.cat([self.theta_embedding(theta), self.x_embedding(x), features], dim=-1))
