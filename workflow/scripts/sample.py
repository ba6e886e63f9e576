"""Draws of the tall posteriors of a problem with a network, one output per method."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.sample import SampleSettings
from tallsbi.study.stages.sample import sample

settings = SampleSettings.from_params(job.settings)
saved, observations = read_network(snakemake.input.network), read_dataset(snakemake.input.observations)
for output, method in enumerate(settings.names):
    bar = partial(job.progress, label=f"{method}: numbers of observations and batches")
    job.write(sample(settings, method, saved, observations, bar), output)
