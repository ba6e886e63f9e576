"""Certified reference posteriors of one task, with observations and true parameters, in one file."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.settings.time import ManySettings
from tallsbi.study.stages.posteriors import reference_posteriors

job.write(reference_posteriors(ManySettings.from_params(job.settings), job.progress))
