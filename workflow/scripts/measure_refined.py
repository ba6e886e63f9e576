"""Posteriors of one task before and after their refinement, against references."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.refine import RefineSettings
from tallsbi.study.stages.refine import refined_table
from tallsbi.study.stages.time_network import read_references

settings = RefineSettings.from_params(job.settings)
saved, observations = read_network(snakemake.input.network), read_dataset(snakemake.input.observations)
references = read_references(snakemake.input.references, settings.n_obs)
job.write(refined_table(settings, saved, observations, references, partial(job.progress, label="posteriors")))
