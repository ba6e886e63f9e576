"""Samples the posteriors of one task as the observations become many: relative errors, times and memory."""

from tallsbi.runner.job import set_threads, start

job = start(snakemake)  # noqa: F821
set_threads(1)  # the job holds all cores so that none is busy otherwise; the methods are timed on one

from functools import partial  # noqa: E402

from tallsbi.scores.network_file import read_network  # noqa: E402
from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.many import many_table  # noqa: E402

paths = snakemake.input  # noqa: F821
table = many_table(
    snakemake.wildcards.task,  # noqa: F821
    read_network(paths.network),
    read_dataset(paths.observations),
    read_dataset(paths.references),
    snakemake.params.n_train,  # noqa: F821
    job.settings,
    partial(job.progress, label="runs"),
)
job.write(table)
