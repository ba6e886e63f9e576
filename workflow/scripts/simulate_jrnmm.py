"""Training simulations of the neuroscience model."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.study.stages.jrnmm_data import simulations  # noqa: E402

dim, settings = int(snakemake.wildcards.dim), job.settings  # noqa: F821
job.write(simulations(dim, settings["jrnmm"]["simulations"], settings["bounds"], job.seed, job.threads))
