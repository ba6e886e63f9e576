"""Trains one score network of a task; resumes from its checkpoints after an interruption."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

import torch

from tallsbi.storage.files import read_dataset
from tallsbi.study.tasks import load
from tallsbi.training.loop import train
from tallsbi.training.produce import train_and_write

wildcards = snakemake.wildcards
task, n_train = load(wildcards.task), int(wildcards.n_train)
data = read_dataset(snakemake.input[0]).isel(simulation=slice(n_train))
train_and_write(
    job,
    task.prior.to_latent(torch.from_numpy(data["theta"].values)),
    torch.from_numpy(data["x"].values),
    name=wildcards.task,
    stream=("sbibm", wildcards.task, n_train),
    checkpoints=snakemake.params.checkpoints,
    fit=partial(train, log_x=task.log_x),
)
