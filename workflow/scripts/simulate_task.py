"""Training simulations of one task."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.study.stages.data import simulations  # noqa: E402

task, count = snakemake.wildcards.task, job.settings["sbibm"]["simulations"]  # noqa: F821
job.write(simulations(task, count, job.seed))
