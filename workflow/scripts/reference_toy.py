"""Reference posteriors of one toy problem and dimension, for all n and seeds."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.references.toy import reference_draws, reference_size
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks.toy import make_toy

wildcards, settings = snakemake.wildcards, job.settings["toy"]
n_obs, chains = settings["n_obs"], ChainSettings.from_params(settings["mala"])
toy = make_toy(wildcards.problem, int(wildcards.m), settings["seeds"], max(n_obs), settings, job.seed)
job.write(reference_draws(toy, n_obs, reference_size(settings["samples"]), chains, job.seed))
