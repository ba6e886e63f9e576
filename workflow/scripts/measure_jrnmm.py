"""Distances of the neuroscience posteriors to the true parameter."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.jrnmm_tidy import dirac_table  # noqa: E402

truth, bounds = job.settings["jrnmm"]["theta"], job.settings["bounds"]
job.write(dirac_table((read_dataset(path) for path in snakemake.input), truth, bounds))  # noqa: F821
