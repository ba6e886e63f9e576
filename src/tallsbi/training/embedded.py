"""Training of a score network together with the embedding of its observations.

The loop, the loss and the average are those of `tallsbi.training.loop`; gradients are autograd's. Entries along the
pooled axes of an observation share a mean and a standard deviation: a network that looks for a pattern anywhere in a
series must find the same numbers there. Buffers of a module, such as those of batch normalisation, are not averaged.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tallsbi.random import torch_generator
from tallsbi.schedule import Schedule
from tallsbi.scores import embeddings
from tallsbi.scores.embedded_network import EmbeddedArchitecture, EmbeddedNetwork, ready_made, width
from tallsbi.scores.normaliser import Normaliser
from tallsbi.training import checkpoint
from tallsbi.training.data import TrainingData, split
from tallsbi.training.gradient import AutogradGradient
from tallsbi.training.loop import Run, Trained
from tallsbi.training.settings import TrainingSettings


def embedded_run(
    latent: Float[Tensor, "R m"],
    rows: Float[Tensor, "R k"],
    embedding: Any,
    shape: tuple[int, ...],
    flags: tuple[int, ...],
    condition: int,
    settings: TrainingSettings,
    schedule: Schedule,
    *,
    seed: int,
    weights: Float[Tensor, "R"] | None = None,
) -> EmbeddedRun:
    """A training that has not begun, on latent parameters and rows [numbers of `shape`, flags, conditions]."""
    description, module = embeddings.described(copy.deepcopy(embedding))  # the caller's stays as it is
    plain = settings.architecture(latent.shape[1], rows.shape[1])
    sizes = EmbeddedArchitecture(
        **vars(plain), shape=shape, flags=flags, condition=condition, embedding=description
    )
    trial = ready_made(sizes, torch_generator(seed, "training", "embedding")) if module is None else module
    sizes = replace(sizes, features=width(trial, sizes))
    stream = torch_generator(seed, "training", "split")
    normaliser = _normaliser(latent, rows, sizes)
    data = split(latent, rows, normaliser, settings.validation_share, stream, weights)
    return EmbeddedRun(data, sizes, module, settings, schedule, seed)


def _normaliser(latent: Tensor, rows: Tensor, sizes: EmbeddedArchitecture) -> Normaliser:
    by_column = Normaliser.fit(latent, rows)
    mean, std, D = by_column.x_mean.clone(), by_column.x_std.clone(), sizes.numbers
    axes = embeddings.pooled_axes(sizes.embedding, sizes.shape)
    if axes:
        x = rows[:, :D].double().unflatten(1, sizes.shape)
        pooled = (0, *(1 + axis for axis in axes))
        mean[:D] = x.mean(pooled, keepdim=True).expand_as(x[:1]).flatten()
        std[:D] = x.std(pooled, keepdim=True).expand_as(x[:1]).flatten()
    flags = slice(D, rows.shape[1] - sizes.condition)
    mean[flags], std[flags] = 0.0, 1.0
    return replace(by_column, x_mean=mean, x_std=std)


class EmbeddedRun(Run):
    """One training and its state after `epoch` epochs."""

    network: EmbeddedNetwork

    def __init__(
        self,
        data: TrainingData,
        sizes: EmbeddedArchitecture,
        module: nn.Module | None,
        settings: TrainingSettings,
        schedule: Schedule,
        seed: int,
    ) -> None:
        self.sizes, self.module = sizes, module
        super().__init__(data, settings, schedule, seed)
        self.best_buffers = {name: buffer.clone() for name, buffer in self.network.named_buffers()}

    def _network(self, generator: torch.Generator) -> EmbeddedNetwork:
        return EmbeddedNetwork(self.sizes, generator, self.module)

    def _gradient(self) -> AutogradGradient:
        return AutogradGradient(self.network)

    def identity(self) -> dict[str, Any]:
        start = hashlib.sha256()
        if self.module is not None:
            for name, tensor in self.module.state_dict().items():
                start.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
        embedding = [self.sizes.to_json(), repr(self.module), start.hexdigest()]
        return {**super().identity(), "embedding": embedding}

    def one_epoch(self) -> None:
        self.network.train()
        # Dropout and the like draw from the global stream: the same after an interruption.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_generator(self.seed, "training", "embedding", self.epoch).initial_seed())
            super().one_epoch()

    def _validate(self) -> float:
        self._set_buffers(dict(self.network.named_buffers()))
        loss = super()._validate()
        if self.best_epoch == self.epoch:
            self.best_buffers = {name: buffer.clone() for name, buffer in self.network.named_buffers()}
        return loss

    def _set_buffers(self, buffers: dict[str, Tensor]) -> None:
        self.average.network.eval()
        for name, buffer in self.average.network.named_buffers():
            buffer.copy_(buffers[name])

    def state(self) -> checkpoint.State:
        state, buffers = super().state(), dict(self.network.named_buffers())
        extra = {f"buffer.{name}": buffer for name, buffer in buffers.items()}
        best = {f"best_buffer.{name}": buffer for name, buffer in self.best_buffers.items()}
        return checkpoint.State({**state.tensors, **extra, **best}, state.counters)

    @torch.no_grad()
    def restore(self, state: checkpoint.State) -> None:
        super().restore(state)
        for name, buffer in self.network.named_buffers():
            buffer.copy_(state.tensors[f"buffer.{name}"])
            self.best_buffers[name] = state.tensors[f"best_buffer.{name}"].clone()

    def result(self) -> Trained:
        self._set_buffers(
            self.best_buffers if self.settings.early_stopping else dict(self.network.named_buffers())
        )
        return super().result()
