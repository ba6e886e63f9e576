"""Samples the posteriors of one task as the observations become many: relative errors, times and memory."""

from tallsbi.runner.job import set_threads, start

job = start(snakemake)
set_threads(1)  # the job holds all cores so that none is busy otherwise; the methods are timed on one

from functools import partial

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.many import many_table

paths = snakemake.input
table = many_table(
    snakemake.wildcards.task,
    read_network(paths.network),
    read_dataset(paths.observations),
    read_dataset(paths.references),
    snakemake.params.n_train,
    job.settings,
    partial(job.progress, label="runs"),
)
job.write(table)
