"""A score network whose observations pass through an embedding first (`tallsbi.scores.embeddings`).

A row holds the numbers of an observation, flags of those that are missing, and what is known about it. The embedding
sees the observation in its shape, with a mask where there are flags; what is known goes past it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tallsbi.scores import embeddings
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_file import build_network
from tallsbi.storage.plain import from_json


@dataclass(frozen=True)
class EmbeddedArchitecture(Architecture):
    """`shape`: of an observation; `flags`: which flag each of its numbers has (-1: none); `condition`: columns that go
    past the embedding; `features`: what it gives; `embedding`: its description."""

    shape: tuple[int, ...] = ()
    flags: tuple[int, ...] = ()
    condition: int = 0
    features: int = 1
    embedding: dict[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> int:
        return math.prod(self.shape)

    @property
    def mask_shape(self) -> tuple[int, ...]:
        """One flag for each entry of the first axis, or one for each number."""
        count = max(self.flags, default=-1) + 1
        return () if not count else (self.shape[:1] if count == self.shape[0] else self.shape)

    @property
    def parts(self) -> tuple[int, int, int]:
        theta, _, time = super().parts
        return theta, self.features + self.condition, time


class Embedded(nn.Module):
    """Takes rows to features and conditions."""

    def __init__(self, module: nn.Module, architecture: EmbeddedArchitecture) -> None:
        super().__init__()
        self.module, self.sizes = module, architecture
        self.masked = bool(architecture.mask_shape) and embeddings.takes_mask(module)

    def forward(self, rows: Float[Tensor, "*b k"]) -> Float[Tensor, "*b q"]:
        sizes, flat = self.sizes, rows.reshape(-1, rows.shape[-1])
        x = flat[:, : sizes.numbers].unflatten(1, sizes.shape)
        if self.masked:
            flags = flat[:, sizes.numbers : flat.shape[1] - sizes.condition]
            features = self.module(x, (flags < 0.5).unflatten(1, sizes.mask_shape))
        else:
            features = self.module(x)
        conditions = flat[:, flat.shape[1] - sizes.condition :]
        return torch.cat([features.flatten(1), conditions], dim=1).reshape(*rows.shape[:-1], -1)


class EmbeddedNetwork(ScoreNetwork):
    """`module`: the embedding where it is not a ready-made one; a copy is trained."""

    architecture: EmbeddedArchitecture

    def __init__(
        self,
        architecture: EmbeddedArchitecture,
        generator: torch.Generator | None = None,
        module: nn.Module | None = None,
    ) -> None:
        # An ordinary attribute that is a module needs `nn.Module.__init__` first.
        self.__dict__["_user_module"] = copy.deepcopy(module)
        super().__init__(architecture, generator)
        del self.__dict__["_user_module"]

    def _embedding_of_x(self, generator: torch.Generator) -> nn.Module:
        a = self.architecture
        module = self.__dict__["_user_module"]
        return Embedded(ready_made(a, generator) if module is None else module, a)


def ready_made(architecture: EmbeddedArchitecture, generator: torch.Generator) -> nn.Module:
    """A ready-made embedding, its weights from `generator`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        return embeddings.restored(architecture.embedding).build(architecture.shape, architecture.mask_shape)


def width(module: nn.Module, architecture: EmbeddedArchitecture) -> int:
    """How many features a module gives; it is tried with two observations of zeros."""
    if architecture.mask_shape and not embeddings.takes_mask(module):
        raise ValueError(
            f"embedding: observations have missing values or different lengths, and {type(module).__name__} takes no "
            "mask; give its `forward` a second argument, mask, True where there is a value."
        )
    x, training = torch.zeros(2, *architecture.shape), module.training
    mask = (torch.ones(2, *architecture.mask_shape, dtype=torch.bool),) if architecture.mask_shape else ()
    try:
        with torch.no_grad():
            features = module.eval()(x, *mask)  # which also gives lazy layers their sizes
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(
            f"embedding: {type(module).__name__} does not take observations of shape {tuple(x.shape)}, two of "
            f"{architecture.shape}: {error}"
        ) from error
    module.train(training)
    if not isinstance(features, Tensor) or features.ndim < 2 or len(features) != 2:
        shape = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ValueError(
            f"embedding: {type(module).__name__} gave {shape} for two observations; expected [2, f]."
        )
    return features[0].numel()


class EmbeddingNeeded(LookupError):
    """The file of a network needs its embedding again, and none was given, or another one."""


def build(architecture: Mapping[str, Any], module: Any = None) -> ScoreNetwork:
    """The network of a description, its weights still to be loaded; `module`: an embedding that is not ready-made."""
    if "embedding" not in architecture:
        return build_network(architecture)
    sizes = from_json(EmbeddedArchitecture, architecture, "architecture")
    if sizes.embedding["kind"] != "module":
        return EmbeddedNetwork(sizes).eval()
    if not isinstance(module, nn.Module):
        raise EmbeddingNeeded(
            f"its embedding is a module of the class {sizes.embedding['class']}, of which files hold the weights only: "
            "give one, with any weights, as load(folder, embedding=...)"
        )
    module = copy.deepcopy(module)
    try:
        features = width(module, sizes)
    except ValueError as error:
        raise EmbeddingNeeded(str(error)) from error
    if features != sizes.features:
        raise EmbeddingNeeded(
            f"embedding: {type(module).__name__} gives {features} features; the network was trained with "
            f"{sizes.features} of {sizes.embedding['class']}."
        )
    return EmbeddedNetwork(sizes, None, module).eval()
