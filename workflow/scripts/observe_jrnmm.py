"""Observations of the true parameter of the neuroscience model."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.stages.jrnmm_data import PARAMETERS, observations

dim, sizes = int(snakemake.wildcards.dim), job.settings["jrnmm"]
truth = [sizes["theta"][name] for name in PARAMETERS]
job.write(observations(dim, truth, sizes["observations"], job.seed, job.threads))
