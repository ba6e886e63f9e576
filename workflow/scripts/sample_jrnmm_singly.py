"""Draws of the neuroscience posterior of each observation alone, with GAUSS."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.jrnmm_sampling import single_draws

# As many draws as a density estimate can show.
MOST = 1000

paths, samples = snakemake.input, min(job.settings["jrnmm"]["samples"], MOST)
saved, observations = read_network(paths.network), read_dataset(paths.observations)
job.write(single_draws("GAUSS", saved, observations, samples, job.settings))
