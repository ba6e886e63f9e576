"""Draws of the two-dimensional illustration."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.settings.toy import PedagogicalSettings
from tallsbi.study.stages.pedagogical import illustrate

job.write(illustrate(PedagogicalSettings.from_params(job.settings)))
