"""Certified reference posteriors of one task for every n and parameter set."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.references.sbibm import reference_posterior
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks import load

task, n_obs = load(snakemake.wildcards.task), snakemake.params.n_obs
x = read_dataset(snakemake.input[0])["x"].values[:, : max(n_obs)]
samples = job.settings["sbibm"]["samples"]
chains = ChainSettings.from_params(job.settings["sbibm"]["reference"])
for index, n in enumerate(n_obs):
    job.write(reference_posterior(task, x, n, samples, chains, job.seed, job.progress), index)
