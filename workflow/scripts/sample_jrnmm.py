"""Draws of the neuroscience posteriors with one algorithm, plain and clipped, for some n."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from functools import partial  # noqa: E402

from tallsbi.algorithms import CLIP_SUFFIX  # noqa: E402
from tallsbi.scores.network_file import read_network  # noqa: E402
from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.jrnmm_sampling import tall_draws  # noqa: E402

paths, n_obs = snakemake.input, snakemake.params.n_obs  # noqa: F821
samples = job.settings["jrnmm"]["samples"]
saved, observations = read_network(paths.network), read_dataset(paths.observations)
for output, suffix in (("plain", ""), ("clipped", CLIP_SUFFIX)):
    method = snakemake.wildcards.algorithm + suffix  # noqa: F821
    bar = partial(job.progress, label="numbers of observations")
    job.write(tall_draws(method, saved, observations, n_obs, samples, job.settings, bar), output)
