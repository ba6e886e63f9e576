"""Distances of toy samples to their references."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.toy import ToyMeasureSettings
from tallsbi.study.stages.measure_toy import distance_table

settings = ToyMeasureSettings.from_params(job.settings)
runs = [read_dataset(path) for path in snakemake.input.samples]
reference, progress = read_dataset(snakemake.input.reference), partial(job.progress, label="runs")
job.write(distance_table(runs, reference, settings, progress))
