"""A score network with a set encoder that is learned with it: a deep set (the alternative to `mean`).

    eps(theta_t, {x_1, ..., x_s}, t) = MLP([theta_t, (phi(x_1) + ... + phi(x_s)) / s, one-hot of s, features(t)])

phi is a perceptron that sees one member at a time, so the result does not depend on their order, and empty
places of the row (`tallsbi.scores.sets`) are never looked at. Everything else is the ordinary score network,
with phi and the average in the place of its embedding of x: composition and samplers see no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tallsbi.schedule import Schedule
from tallsbi.scores.network import MLP, Architecture, ScoreNetwork
from tallsbi.scores.network_file import SavedNetwork, read_network
from tallsbi.scores.normaliser import Normaliser
from tallsbi.scores.sets import SetEncoding
from tallsbi.study import files
from tallsbi.study.tensors import read_tensors

MEMBER_ENCODER = (64, 64, 32)  # widths of phi, its output last


@dataclass(frozen=True)
class SetArchitecture(Architecture):
    """Sizes of a set network; `x_dim` counts the columns of a row, `x_embedding` holds the widths of phi."""

    n_max: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_max < 1 or self.x_dim % self.n_max or self.x_dim <= self.n_max or not self.x_embedding:
            raise ValueError(
                f"{self}: a row holds n_max members and n_max columns of their number, and `x_embedding` must "
                "name at least the width of a member's code."
            )

    @property
    def member_dim(self) -> int:
        return self.x_dim // self.n_max - 1

    @property
    def parts(self) -> tuple[int, int, int]:
        theta, x, time = super().parts
        return theta, x + self.n_max, time


class DeepSet(nn.Module):
    """A row [members, one-hot of the size] to [average of the members' codes, one-hot of the size]."""

    def __init__(self, phi: MLP, n_max: int) -> None:
        super().__init__()
        self.phi, self.n_max = phi, n_max

    def forward(self, rows: Float[Tensor, "*b w"]) -> Float[Tensor, "*b q"]:
        flat = rows.reshape(-1, rows.shape[-1])
        size = flat[:, -self.n_max :]
        taken = size.flip(1).cumsum(1).flip(1) > 0.5
        members = flat[:, : -self.n_max].unflatten(1, (self.n_max, -1))
        # Members only, without the empty places: on average half of the work.
        codes = self.phi(members[taken])
        owner = taken.nonzero()[:, 0]
        total = codes.new_zeros(len(flat), codes.shape[1]).index_add(0, owner, codes)
        average = total / taken.sum(1, keepdim=True)
        return torch.cat([average, size], dim=1).reshape(*rows.shape[:-1], -1)


class SetNetwork(ScoreNetwork):
    """Predicts the noise in theta_t from a set; `generator` draws the initial weights, as in `ScoreNetwork`."""

    def __init__(self, architecture: SetArchitecture, generator: torch.Generator | None = None) -> None:
        nn.Module.__init__(self)  # the parent's would make an embedding of the whole row
        generator = torch.Generator().manual_seed(0) if generator is None else generator
        self.architecture = a = architecture
        self.theta_embedding = (
            MLP((a.theta_dim, *a.theta_embedding), False, generator) if a.theta_embedding else nn.Identity()
        )
        self.x_embedding = DeepSet(MLP((a.member_dim, *a.x_embedding), False, generator), a.n_max)
        self.trunk = MLP((sum(a.parts), *a.hidden, a.theta_dim), a.layer_norm, generator)


def read_set_network(path: str | Path) -> tuple[SavedNetwork, SetEncoding]:
    """A network on sets with its encoding, as `tallsbi.training.sets` writes it; works for both encoders."""
    tensors, description = read_tensors(path)
    try:
        encoding = SetEncoding(**description["training"]["encoding"])
        if encoding.kind == "mean":
            return read_network(path), encoding
        network = SetNetwork(SetArchitecture.from_json(description["architecture"]))
        network.to(getattr(torch, description["dtype"]))
        names = {name: f"network.{name}" for name in network.state_dict()}
        network.load_state_dict({name: tensors[stored] for name, stored in names.items()})
        saved = SavedNetwork(
            network=network.requires_grad_(False),
            normaliser=Normaliser.from_json(description["normaliser"]),
            schedule=Schedule(**description["schedule"]),
            task=description["task"],
            validation_losses=tensors["validation_losses"],
            facts=description["training"],
        )
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise files.DataError(
            f"{path} does not describe a network on sets ({error}): delete it and rerun"
        ) from error
    return saved, encoding
