"""Trains one score network of the neuroscience model; resumes from its checkpoints after an interruption."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

import torch  # noqa: E402

from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.training.produce import train_and_write  # noqa: E402

name = f"{snakemake.wildcards.dim}d"  # noqa: F821
data = read_dataset(snakemake.input[0])  # noqa: F821
train_and_write(
    job,
    torch.from_numpy(data["theta"].values),
    torch.from_numpy(data["x"].values),
    name=name,
    stream=("jrnmm", name),
    checkpoints=snakemake.params.checkpoints,  # noqa: F821
)
