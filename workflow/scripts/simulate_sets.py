"""Several observations of every training parameter of one task."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.stages.data import set_simulations

settings = job.settings
job.write(set_simulations(snakemake.wildcards.task, settings["simulations"], settings["members"], job.seed))
