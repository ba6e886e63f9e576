"""Draws of the tall posteriors of one task from groups of observations, one output per method."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.scores.group_network import read_group_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.sized_sample import SizedSampleSettings
from tallsbi.study.stages.partial import sample_groups

settings = SizedSampleSettings.from_params(job.settings)
saved, encoding = read_group_network(snakemake.input.network)
observations = read_dataset(snakemake.input.observations)
for output, method in partial(job.progress, label="methods")(list(enumerate(settings.names))):
    job.write(sample_groups(settings, method, saved, encoding, observations), output)
