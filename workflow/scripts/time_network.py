"""Times all methods on one task with a network: accuracy against time steps, or with many observations."""

from tallsbi.runner.job import set_threads, start

job = start(snakemake)
set_threads(1)  # the job reserves all cores, so that nothing runs beside it; the methods are timed on one

from functools import partial

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.time import TimeSettings
from tallsbi.study.stages.time_network import CostStudy, many_table, read_references, steps_table

settings = TimeSettings.from_params(job.settings)
saved, observations = read_network(snakemake.input.network), read_dataset(snakemake.input.observations)
references = read_references(snakemake.input.references, settings.n_obs)
study = CostStudy(settings, saved, observations, references)
table = many_table if study.name == "many" else steps_table
job.write(table(study, partial(job.progress, label="runs")))
