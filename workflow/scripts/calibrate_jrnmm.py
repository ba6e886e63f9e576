"""Calibration pairs of the neuroscience model: parameters of the prior with n observations each."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.study.stages.jrnmm_data import calibration  # noqa: E402

dim, pairs = int(snakemake.wildcards.dim), job.settings["jrnmm"]["lc2st"]["calibration"]  # noqa: F821
job.write(calibration(dim, pairs, snakemake.params.n, job.settings["bounds"], job.seed, job.threads))  # noqa: F821
