"""Certified reference posteriors of one task for every n and parameter set."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.references.benchmark import reference_posterior
from tallsbi.study.tasks import load

task, n_obs = load(snakemake.wildcards.task), snakemake.params.n_obs
x = read_dataset(snakemake.input[0])["x"].values[:, : max(n_obs)]
settings = job.settings["sbibm"]
for index, n in enumerate(n_obs):
    posterior = reference_posterior(
        task, x, n, settings["samples"], settings["reference"], job.seed, job.progress
    )
    job.write(posterior, index)
