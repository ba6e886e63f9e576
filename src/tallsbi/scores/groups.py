"""Groups of observations as inputs of a score network: partial factorisation (PF-NPSE, appendix of the paper).

A network that takes groups of 1 to n_max observations needs fewer factors: n observations are cut into
k = ceil(n / n_max) consecutive blocks, the last one smaller where n_max does not divide n, and every block is
one "observation" of the composition. The prior's power is then 1 - k, for

    p(theta | x_1, ..., x_n)  ∝  p(theta)^(1 - k)  prod_b p(theta | block b)

A group reaches the network as one row, its size as a one-hot of n_max columns at the end:

    mean      [mean of the members, one-hot of the size]: what was published. The mean alone is no sufficient
              statistic, unless the model is Gaussian with known covariance.
    deep_set  [all members, zeros in empty places, one-hot of the size]: the network encodes every member and
              averages the codes, see `tallsbi.scores.group_network`.

Where a network sees log x, the logarithm is taken here, member by member.
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from tallsbi.scores.normaliser import log_of
from tallsbi.shapes import Observations

ENCODERS = ("mean", "deep_set")


@dataclass(frozen=True)
class GroupEncoding:
    """How a group of at most `n_max` observations becomes a row; `log_x`: its members in logarithms."""

    kind: str
    n_max: int
    log_x: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ENCODERS:
            raise ValueError(
                f"encoder = {self.kind!r}: there is no such encoder; there are {', '.join(ENCODERS)}."
            )
        if self.n_max < 1:
            raise ValueError(f"n_max = {self.n_max}: a group has at least one member; give 1 or more.")

    def width(self, dim: int) -> int:
        """Columns of a row, for observations of `dim` columns."""
        return (dim if self.kind == "mean" else self.n_max * dim) + self.n_max

    def rows(self, x: Float[Tensor, "*b k d"], sizes: Int[Tensor, "*b"]) -> Float[Tensor, "*b w"]:
        """A row per group: the first `sizes` of the k = n_max places are its members, the others are not read."""
        if x.shape[-2] != self.n_max:
            raise ValueError(f"x has {x.shape[-2]} places per group, but n_max = {self.n_max}: give as many.")
        if sizes.numel() and not 1 <= int(sizes.min()) <= int(sizes.max()) <= self.n_max:
            raise ValueError(
                f"group sizes lie between {int(sizes.min())} and {int(sizes.max())}: this encoding takes groups "
                f"of 1 to n_max = {self.n_max}."
            )
        member = present(sizes, self.n_max)[..., None]
        values = torch.where(member, x, 1.0)
        values = torch.where(member, log_of(values) if self.log_x else values, 0.0)
        content = values.sum(-2) / sizes[..., None] if self.kind == "mean" else values.flatten(-2)
        return torch.cat([content, F.one_hot(sizes - 1, self.n_max).to(x.dtype)], dim=-1)

    def blocks(self, x: Observations) -> Float[Tensor, "B k w"]:
        """The rows of the k = ceil(n / n_max) consecutive blocks of each dataset's n observations."""
        B, n, d = x.shape
        sizes = block_sizes(n, self.n_max).to(x.device)
        places = x.new_zeros(B, len(sizes) * self.n_max, d)
        places[:, :n] = x
        return self.rows(places.unflatten(1, (-1, self.n_max)), sizes.expand(B, -1))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def block_sizes(n: int, n_max: int) -> Int[Tensor, "k"]:
    """Sizes of the consecutive blocks that n observations are cut into; only the last may be below n_max."""
    if n < 1:
        raise ValueError(f"n = {n}: there is nothing to cut into blocks; give at least one observation.")
    starts = torch.arange(0, n, n_max)
    return torch.clamp(n - starts, max=n_max)


def present(sizes: Int[Tensor, "*b"], n_max: int) -> Bool[Tensor, "*b n_max"]:
    """Which of the n_max places of a group are taken."""
    return torch.arange(n_max, device=sizes.device) < sizes[..., None]
