"""Times all methods on one toy problem and dimension, with nothing beside it."""

from tallsbi.runner.job import set_threads, start

job = start(snakemake)
set_threads(1)  # the job holds all cores so that none is busy otherwise; the methods are timed on one

from functools import partial

from tallsbi.study.stages.toy_timing import time_methods

wildcards = snakemake.wildcards
times = time_methods(
    wildcards.problem, int(wildcards.m), job.settings, progress=partial(job.progress, label="rounds")
)
job.write(times)
