"""Several observations of every training parameter of one task."""

from tallsbi.study.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.benchmark.data import set_simulations  # noqa: E402

settings = job.settings
job.write(set_simulations(snakemake.wildcards.task, settings["simulations"], settings["members"], job.seed))  # noqa: F821
