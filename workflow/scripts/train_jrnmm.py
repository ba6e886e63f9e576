"""Trains one score network of the neuroscience model; resumes from its checkpoints after an interruption."""

from tallsbi.runner.job import start

job = start(snakemake)

import torch

from tallsbi.storage.files import read_dataset
from tallsbi.training.produce import train_and_write

name = f"{snakemake.wildcards.dim}d"
data = read_dataset(snakemake.input[0])
train_and_write(
    job,
    torch.from_numpy(data["theta"].values),
    torch.from_numpy(data["x"].values),
    name=name,
    stream=("jrnmm", name),
    checkpoints=snakemake.params.checkpoints,
)
