"""Distances of toy samples to their references."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.toy_distances import distance_table

paths, n_obs = snakemake.input, snakemake.params.n_obs
runs = [read_dataset(path).sel(n=n_obs) for path in paths.samples]
table = distance_table(
    runs, read_dataset(paths.reference), job.settings, progress=partial(job.progress, label="runs")
)
job.write(table)
