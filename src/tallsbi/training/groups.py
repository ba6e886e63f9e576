"""Training on groups of observations: partial factorisation (PF-NPSE, appendix of the paper).

Every parameter comes with n_max simulations; a training example is a group of 1 to n_max of them, its size
uniform.

    mean      the size is drawn once per example, and the members are the first ones, as published. The rest
              is ordinary training on the encoded rows.
    deep_set  size and members are drawn anew in every epoch, which costs nothing and uses all simulations.
              All members share one mean and standard deviation: the encoder must not see their order.

Settings, loss, average, validation and checkpoints are those of `tallsbi.training.loop`; held-out groups
are drawn once. Gradients of the deep set are autograd's.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.progress import Progress
from tallsbi.random import torch_generator
from tallsbi.schedule import Schedule
from tallsbi.scores.group_network import MEMBER_ENCODER, GroupArchitecture, GroupNetwork
from tallsbi.scores.groups import GroupEncoding
from tallsbi.scores.normaliser import Normaliser
from tallsbi.training.data import TrainingData, prepare, split
from tallsbi.training.gradient import AutogradGradient
from tallsbi.training.loop import Run, Trained, finish
from tallsbi.training.settings import TrainingSettings


def train_on_groups(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R k d"],
    encoding: GroupEncoding,
    settings: TrainingSettings,
    schedule: Schedule,
    *,
    seed: int,
    checkpoint_dir: Path | None = None,
    checkpoint_seconds: float = 60.0,
    progress: Progress = iter,
) -> Trained:
    """Trains on latent parameters and at least n_max raw observations of each; the first n_max are used."""
    if settings.drop_context:
        raise ValueError(
            f"training.drop_context = {settings.drop_context}: networks on groups do not learn the prior; set it to 0."
        )
    if x.shape[1] < encoding.n_max:
        raise ValueError(
            f"n_max = {encoding.n_max}, but there are {x.shape[1]} observations per parameter: simulate more."
        )
    x, split_stream = x[:, : encoding.n_max], torch_generator(seed, "training", "split")
    if encoding.kind == "mean":
        sizes = _sizes(len(x), encoding.n_max, torch_generator(seed, "training", "sets")).to(x.device)
        data = prepare(latent, encoding.rows(x, sizes), settings.validation_share, split_stream)
        run = Run(data, settings, schedule, seed)
    else:
        data = prepare_groups(latent, x, encoding, settings.validation_share, split_stream)
        run = GroupRun(data, encoding, settings, schedule, seed)
    trained = finish(run, checkpoint_dir, checkpoint_seconds, progress)
    return replace(trained, facts={**trained.facts, "encoding": encoding.to_json()})


def prepare_groups(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R k d"],
    encoding: GroupEncoding,
    validation_share: float,
    generator: torch.Generator,
) -> TrainingData:
    """Rows of full groups, standardised and split as in `tallsbi.training.data`."""
    n_max = encoding.n_max
    full = encoding.rows(x, torch.full((len(latent),), n_max, device=x.device))
    members = full[:, :-n_max].unflatten(1, (n_max, -1)).flatten(0, 1)
    pooled = Normaliser.fit(latent.repeat_interleave(n_max, 0), members)
    size = torch.zeros(n_max, dtype=torch.float64, device=pooled.x_mean.device)
    normaliser = replace(
        pooled,
        x_mean=torch.cat([pooled.x_mean.repeat(n_max), size]),
        x_std=torch.cat([pooled.x_std.repeat(n_max), size + 1]),
    )
    return split(latent, full, normaliser, validation_share, generator)


class GroupRun(Run):
    """One training of a deep set and its state after `epoch` epochs; `data` holds rows of full groups."""

    def __init__(
        self,
        data: TrainingData,
        encoding: GroupEncoding,
        settings: TrainingSettings,
        schedule: Schedule,
        seed: int,
    ) -> None:
        self.encoding = replace(encoding, log_x=False)  # the rows of `data` are logarithms already
        self.full = data.x
        super().__init__(data, settings, schedule, seed)

    def _network(self, generator: torch.Generator) -> GroupNetwork:
        plain = self.settings.architecture(self.data.theta.shape[1], self.data.x.shape[1])
        sizes = {**vars(plain), "x_embedding": self.settings.x_embedding or MEMBER_ENCODER}
        return GroupNetwork(GroupArchitecture(**sizes, n_max=self.encoding.n_max), generator)

    def _gradient(self) -> AutogradGradient:
        return AutogradGradient(self.network)

    def _held_out_x(self) -> Float[Tensor, "V w"]:
        stream = torch_generator(self.seed, "training", "held-out sets")
        return draw_groups(self.data.held_out_x, self.encoding, stream)

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "encoding": self.encoding.to_json()}

    def one_epoch(self) -> None:
        stream = torch_generator(self.seed, "training", "sets", self.epoch)
        self.data = replace(self.data, x=draw_groups(self.full, self.encoding, stream))
        super().one_epoch()


def draw_groups(
    full: Float[Tensor, "N w"], encoding: GroupEncoding, generator: torch.Generator
) -> Float[Tensor, "N w"]:
    """Turns rows of full groups into rows of groups with a uniform random size and random members."""
    n_max = encoding.n_max
    places = torch.rand(len(full), n_max, generator=generator).argsort(1).to(full.device)
    members = full[:, :-n_max].unflatten(1, (n_max, -1))
    shuffled = members.gather(1, places[:, :, None].expand_as(members))
    return encoding.rows(shuffled, _sizes(len(full), n_max, generator).to(full.device))


def _sizes(count: int, n_max: int, generator: torch.Generator) -> Tensor:
    return torch.randint(1, n_max + 1, (count,), generator=generator)
