"""Training simulations of one task."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.stages.data import simulations

task, count = snakemake.wildcards.task, job.settings["sbibm"]["simulations"]
job.write(simulations(task, count, job.seed))
