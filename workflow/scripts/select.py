"""Chooses among the trained networks of one problem and training size."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.settings.select import SelectSettings
from tallsbi.study.stages.select import select

settings = SelectSettings.from_params(job.settings)
select(settings, snakemake.input.networks, job.output("network"), job.output("choice"))
