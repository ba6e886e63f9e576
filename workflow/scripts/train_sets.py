"""Trains one score network on sets of observations; resumes from its checkpoints after an interruption."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from functools import partial  # noqa: E402

import torch  # noqa: E402

from tallsbi.scores.groups import GroupEncoding  # noqa: E402
from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.tasks import load  # noqa: E402
from tallsbi.training.groups import train_on_groups  # noqa: E402
from tallsbi.training.produce import train_and_write  # noqa: E402

wildcards = snakemake.wildcards  # noqa: F821
task, n_train, n_max = load(wildcards.task), int(wildcards.n_train), int(wildcards.n_max)
data = read_dataset(snakemake.input[0]).isel(simulation=slice(n_train), member=slice(n_max))  # noqa: F821
train_and_write(
    job,
    task.prior.to_latent(torch.from_numpy(data["theta"].values)),
    torch.from_numpy(data["x"].values),
    name=wildcards.task,
    stream=("sbibm", wildcards.task, n_train, "sets", wildcards.encoder, n_max),
    checkpoints=snakemake.params.checkpoints,  # noqa: F821
    fit=partial(train_on_groups, encoding=GroupEncoding(wildcards.encoder, n_max, task.log_x)),
)
