"""Trains one score network on groups of observations; resumes from its checkpoints."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.scores.groups import GroupEncoding
from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.train import TrainGroupsSettings
from tallsbi.study.stages.train import train_and_write
from tallsbi.study.tasks import simulator
from tallsbi.training.groups import train_on_groups

settings = TrainGroupsSettings.from_params(job.settings)
problem = simulator(settings.problem)
data = read_dataset(snakemake.input[0]).isel(member=slice(settings.n_max))
fit = partial(train_on_groups, encoding=GroupEncoding(settings.encoder, settings.n_max, problem.log_x))
stream = ("sets", settings.encoder, settings.n_max)
train_and_write(job, settings, problem, data, snakemake.params.checkpoints, fit, stream)
