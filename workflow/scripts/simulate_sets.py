"""Several observations of every training parameter of one task."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.study.stages.data import set_simulations  # noqa: E402

settings = job.settings
job.write(set_simulations(snakemake.wildcards.task, settings["simulations"], settings["members"], job.seed))  # noqa: F821
