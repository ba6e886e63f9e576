"""Trains one score network of a problem; resumes from its checkpoints after an interruption."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.train import TrainSettings
from tallsbi.study.stages.train import train_and_write
from tallsbi.study.tasks import simulator
from tallsbi.training.loop import train

settings = TrainSettings.from_params(job.settings)
problem, data = simulator(settings.problem), read_dataset(snakemake.input[0])
fit = partial(train, log_x=problem.log_x)
train_and_write(job, settings, problem, data, snakemake.params.checkpoints, fit)
