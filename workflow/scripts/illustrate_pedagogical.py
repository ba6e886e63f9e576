"""Samples of the two-dimensional illustration."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.stages.pedagogical import illustrate

job.write(illustrate(job.settings))
