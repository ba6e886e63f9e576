"""Offsets and coverage of one method on one task against the number of observations."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.scores.network_file import read_network
from tallsbi.study.settings.horizon import HorizonSettings
from tallsbi.study.stages.horizon import calibration_table

settings = HorizonSettings.from_params(job.settings)
progress = partial(job.progress, label="numbers of observations")
job.write(calibration_table(settings, read_network(snakemake.input.network), progress))
