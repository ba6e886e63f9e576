"""Samples the tall posteriors of one task with every method and number of time steps: distances and times."""

from tallsbi.runner.job import set_threads, start

job = start(snakemake)
set_threads(1)  # the job holds all cores so that none is busy otherwise; the methods are timed on one

from functools import partial

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.steps import steps_table

paths, n_obs = snakemake.input, job.settings["steps"]["n_obs"]
table = steps_table(
    snakemake.wildcards.task,
    read_network(paths.network),
    read_dataset(paths.observations),
    {n: read_dataset(path) for n, path in zip(n_obs, paths.references, strict=True)},
    snakemake.params.n_train,
    job.settings,
    partial(job.progress, label="runs"),
)
job.write(table)
