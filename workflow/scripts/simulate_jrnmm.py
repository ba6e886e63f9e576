"""Training simulations of the neuroscience model."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.stages.jrnmm_data import simulations

dim, settings = int(snakemake.wildcards.dim), job.settings
job.write(simulations(dim, settings["jrnmm"]["simulations"], settings["bounds"], job.seed, job.threads))
