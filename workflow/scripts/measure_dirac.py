"""Distances of the Jansen-Rit posteriors to the true parameter."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.measure import DiracSettings
from tallsbi.study.stages.dirac import dirac_table

job.write(dirac_table(map(read_dataset, snakemake.input), DiracSettings.from_params(job.settings)))
