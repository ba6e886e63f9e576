"""Calibration pairs of the neuroscience model: parameters of the prior with n observations each."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.stages.jrnmm_data import calibration

dim, pairs = int(snakemake.wildcards.dim), job.settings["jrnmm"]["lc2st"]["calibration"]
job.write(calibration(dim, pairs, snakemake.params.n, job.settings["bounds"], job.seed, job.threads))
