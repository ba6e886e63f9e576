"""Trains one score network on sets of observations; resumes from its checkpoints after an interruption."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

import torch

from tallsbi.scores.groups import GroupEncoding
from tallsbi.storage.files import read_dataset
from tallsbi.study.tasks import load
from tallsbi.training.groups import train_on_groups
from tallsbi.training.produce import train_and_write

wildcards = snakemake.wildcards
task, n_train, n_max = load(wildcards.task), int(wildcards.n_train), int(wildcards.n_max)
data = read_dataset(snakemake.input[0]).isel(simulation=slice(n_train), member=slice(n_max))
train_and_write(
    job,
    task.prior.to_latent(torch.from_numpy(data["theta"].values)),
    torch.from_numpy(data["x"].values),
    name=wildcards.task,
    stream=("sbibm", wildcards.task, n_train, "sets", wildcards.encoder, n_max),
    checkpoints=snakemake.params.checkpoints,
    fit=partial(train_on_groups, encoding=GroupEncoding(wildcards.encoder, n_max, task.log_x)),
)
