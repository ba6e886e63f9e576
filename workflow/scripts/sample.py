"""Draws of the tall posteriors of a problem with a network, one output per method."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.sized_sample import SizedSampleSettings
from tallsbi.study.stages.sample import sample_all

settings = SizedSampleSettings.from_params(job.settings)
saved, observations = read_network(snakemake.input.network), read_dataset(snakemake.input.observations)
progress = partial(job.progress, label=f"{' and '.join(settings.names)}: numbers of observations and batches")
for output, draws in enumerate(sample_all(settings, saved, observations, progress).values()):
    job.write(draws, output)
