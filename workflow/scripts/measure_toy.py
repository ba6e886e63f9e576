"""Distances of toy samples to their references."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from functools import partial  # noqa: E402

from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.toy_distances import distance_table  # noqa: E402

paths, n_obs = snakemake.input, snakemake.params.n_obs  # noqa: F821
runs = [read_dataset(path).sel(n=n_obs) for path in paths.samples]
table = distance_table(
    runs, read_dataset(paths.reference), job.settings, progress=partial(job.progress, label="runs")
)
job.write(table)
