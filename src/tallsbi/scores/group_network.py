"""A score network on groups of observations, whose encoder is learned with it: a deep set.

    eps(theta_t, {x_1, ..., x_s}, t) = MLP([theta_t, (phi(x_1) + ... + phi(x_s)) / s, one-hot of s, features(t)])

phi is a perceptron that sees one member at a time, so the result does not depend on their order, and empty
places of the row (`tallsbi.scores.groups`) are never looked at. Everything else is the ordinary score network,
with phi and the average in the place of its embedding of x: composition and samplers see no difference.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tallsbi.scores.groups import GroupEncoding
from tallsbi.scores.network import MLP, Architecture, ScoreNetwork
from tallsbi.scores.network_file import SavedNetwork, build_network, read_network
from tallsbi.storage import files
from tallsbi.storage.plain import from_json

MEMBER_ENCODER = (64, 64, 32)  # widths of phi, its output last


@dataclass(frozen=True)
class GroupArchitecture(Architecture):
    """Sizes of such a network; `x_dim` counts the columns of a row, `x_embedding` holds the widths of phi."""

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


class GroupNetwork(ScoreNetwork):
    """Predicts the noise in theta_t from a group."""

    architecture: GroupArchitecture

    def _embedding_of_x(self, generator: torch.Generator) -> nn.Module:
        a = self.architecture
        return DeepSet(MLP((a.member_dim, *a.x_embedding), False, generator), a.n_max)


def _build(architecture: Mapping[str, Any]) -> ScoreNetwork:
    if "n_max" not in architecture:
        return build_network(architecture)
    return GroupNetwork(from_json(GroupArchitecture, architecture, "architecture"))


def read_group_network(path: str | Path) -> tuple[SavedNetwork, GroupEncoding]:
    """A network on groups with its encoding, as `tallsbi.training.groups` writes it; works for both encoders."""
    saved = read_network(path, build=_build)
    try:
        return saved, GroupEncoding(**saved.facts["encoding"])
    except (KeyError, TypeError, ValueError) as error:
        raise files.DataError(
            f"{path} does not describe a network on groups ({error}): delete it and rerun"
        ) from error
