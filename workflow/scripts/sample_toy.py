"""Draws of the toy posteriors of one problem and dimension with one method, for all n and seeds."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.study.settings.toy import ToySampleSettings
from tallsbi.study.stages.toy import sample_toy

settings = ToySampleSettings.from_params(job.settings)
job.write(sample_toy(settings, partial(job.progress, label="numbers of observations")))
