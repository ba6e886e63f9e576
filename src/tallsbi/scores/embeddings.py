"""Ready-made embeddings: what turns an observation of any shape into a few features, trained with the score network.

    MLP   any shape, as one vector
    CNN   a series [T] or an image [H, W] or [C, H, W]; with axes=1 a series of several channels, [T, C]
    GRU   a series [T] or [T, C]; shorter ones end where their mask ends

Any torch module serves as well: it takes observations [N, ...] to features [N, f], with a second argument `mask`, True
where there is a value, if values can be missing.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

_HEAD_WIDTH = 64  # of the last hidden layer of a convolutional embedding


@dataclass(frozen=True)
class MLP:
    """Fully connected layers of these widths, with ReLU."""

    features: int = 32
    widths: tuple[int, ...] = (128, 128)

    def build(self, shape: tuple[int, ...], mask: tuple[int, ...]) -> nn.Module:
        return _Flat([math.prod(shape) + math.prod(mask) * bool(mask), *self.widths, self.features])


@dataclass(frozen=True)
class CNN:
    """Convolutions with ReLU, each followed by averages of neighbours; `axes`: 1 for series, 2 for images."""

    features: int = 32
    channels: tuple[int, ...] = (16, 32)
    kernel: int = 5
    axes: int | None = None

    def dimensions(self, shape: tuple[int, ...]) -> int:
        axes = min(len(shape), 2) if self.axes is None else self.axes
        if axes not in (1, 2) or len(shape) not in (axes, axes + 1):
            raise ValueError(
                f"CNN: observations of shape {shape} with axes = {self.axes}; give series [T] or [T, C] with axes=1, "
                "or images [H, W] or [C, H, W] with axes=2."
            )
        return axes

    def build(self, shape: tuple[int, ...], mask: tuple[int, ...]) -> nn.Module:
        return _Convolutions(self, shape, bool(mask))


@dataclass(frozen=True)
class GRU:
    """A recurrent network; its state after the last value that is not missing makes the features."""

    features: int = 32
    hidden: int = 64
    layers: int = 1

    def build(self, shape: tuple[int, ...], mask: tuple[int, ...]) -> nn.Module:
        if len(shape) > 2:
            raise ValueError(f"GRU: observations of shape {shape}; give series, [T] or [T, C].")
        return _Recurrent(self, shape, bool(mask))


Embedding = MLP | CNN | GRU
KINDS: dict[str, type[MLP] | type[CNN] | type[GRU]] = {"mlp": MLP, "cnn": CNN, "gru": GRU}


def described(embedding: Any) -> tuple[dict[str, Any], nn.Module | None]:
    """What a file keeps of an embedding, and the module itself where it is not one of ours."""
    if isinstance(embedding, str) and embedding in KINDS:
        embedding = KINDS[embedding]()
    for kind, settings in KINDS.items():
        if isinstance(embedding, settings):
            return {"kind": kind, **asdict(embedding)}, None
    if isinstance(embedding, nn.Module):
        name = f"{type(embedding).__module__}.{type(embedding).__qualname__}"
        return {"kind": "module", "class": name}, embedding
    raise TypeError(
        f"embedding = {embedding!r}: give {', '.join(map(repr, KINDS))}, one of tallsbi.MLP, CNN, GRU, or a torch "
        "module that takes observations [N, ...] to features [N, f]."
    )


def restored(description: Mapping[str, Any]) -> Embedding:
    kind: Any = KINDS[description["kind"]]
    names = {field.name for field in fields(kind)}
    values = {name: value for name, value in description.items() if name in names}
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})


def pooled_axes(description: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of an observation whose entries share one mean and standard deviation."""
    kind, axes = description["kind"], tuple(range(len(shape)))
    if kind == "mlp" or (kind == "module" and len(shape) == 1):
        return ()
    if kind == "cnn" and restored(description).dimensions(shape) == len(shape):  # type: ignore[union-attr]
        return axes
    if len(shape) == 1:
        return axes
    return axes[:-1] if len(shape) == 2 else axes[1:]  # channels are last in series, first in images


def takes_mask(module: nn.Module) -> bool:
    names = list(inspect.signature(module.forward).parameters)
    return len(names) > 1 or "mask" in names


class _Flat(nn.Module):
    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x: Float[Tensor, "N ..."], mask: Bool[Tensor, "N ..."] | None = None) -> Tensor:
        flat = x.flatten(1) if mask is None else torch.cat([x.flatten(1), mask.flatten(1).to(x)], dim=1)
        return self.layers(flat)


def _channels_last(x: Tensor, mask: Tensor | None) -> Tensor:
    """A series [N, T, C], the mask as one more channel."""
    x = x[..., None] if x.ndim == 2 else x
    if mask is None:
        return x
    mask = mask[..., None] if mask.ndim == 2 else mask.all(-1, keepdim=True)
    return torch.cat([x, mask.to(x)], dim=-1)


class _Convolutions(nn.Module):
    def __init__(self, sizes: CNN, shape: tuple[int, ...], mask: bool) -> None:
        super().__init__()
        self.axes = sizes.dimensions(shape)
        convolution = nn.Conv1d if self.axes == 1 else nn.Conv2d
        pool = nn.AvgPool1d if self.axes == 1 else nn.AvgPool2d
        if self.axes == 1:
            size, channels = list(shape[:1]), shape[1] if len(shape) == 2 else 1
        else:
            size, channels = list(shape[-2:]), shape[0] if len(shape) == 3 else 1
        channels += mask
        layers: list[nn.Module] = []
        for width in sizes.channels:
            layers += [convolution(channels, width, sizes.kernel, padding=sizes.kernel // 2), nn.ReLU()]
            size = [length + 2 * (sizes.kernel // 2) - sizes.kernel + 1 for length in size]
            if min(size) >= 2:
                layers.append(pool(2))
                size = [length // 2 for length in size]
            channels = width
        layers += [nn.Flatten(), nn.Linear(channels * math.prod(size), _HEAD_WIDTH), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(_HEAD_WIDTH, sizes.features))

    def forward(self, x: Float[Tensor, "N ..."], mask: Bool[Tensor, "N ..."] | None = None) -> Tensor:
        if self.axes == 1:
            return self.layers(_channels_last(x, mask).mT)
        x = x[:, None] if x.ndim == 3 else x
        if mask is not None:
            if mask.ndim == 2:  # one for each entry of the first axis
                entries = mask[(..., *(None,) * (x.ndim - 2))] if x.shape[1] > 1 else mask[:, None, :, None]
                mask = entries.expand_as(x)
            mask = mask if mask.ndim == x.ndim else mask[:, None]
            x = torch.cat([x, mask.all(1, keepdim=True).to(x)], dim=1)
        return self.layers(x)


class _Recurrent(nn.Module):
    def __init__(self, sizes: GRU, shape: tuple[int, ...], mask: bool) -> None:
        super().__init__()
        channels = (shape[1] if len(shape) == 2 else 1) + mask
        self.gru = nn.GRU(channels, sizes.hidden, sizes.layers, batch_first=True)
        self.out = nn.Linear(sizes.hidden, sizes.features)

    def forward(self, x: Float[Tensor, "N ..."], mask: Bool[Tensor, "N ..."] | None = None) -> Tensor:
        states, _ = self.gru(_channels_last(x, mask))
        if mask is None:
            return self.out(states[:, -1])
        present = mask if mask.ndim == 2 else mask.any(-1)
        steps = torch.arange(present.shape[1], device=present.device)
        last = torch.where(present, steps, 0).amax(1)
        return self.out(states[torch.arange(len(states), device=last.device), last])
