"""Draws of the neuroscience posteriors with one algorithm, plain and clipped, for some n."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.algorithms import CLIP_SUFFIX
from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.jrnmm_sampling import tall_draws

paths, n_obs = snakemake.input, snakemake.params.n_obs
samples = job.settings["jrnmm"]["samples"]
saved, observations = read_network(paths.network), read_dataset(paths.observations)
for output, suffix in (("plain", ""), ("clipped", CLIP_SUFFIX)):
    method = snakemake.wildcards.algorithm + suffix
    bar = partial(job.progress, label="numbers of observations")
    job.write(tall_draws(method, saved, observations, n_obs, samples, job.settings, bar), output)
