"""Distances of the neuroscience posteriors to the true parameter."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.jrnmm_tidy import dirac_table

truth, bounds = job.settings["jrnmm"]["theta"], job.settings["bounds"]
job.write(dirac_table((read_dataset(path) for path in snakemake.input), truth, bounds))
