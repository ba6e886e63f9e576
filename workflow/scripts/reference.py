"""Certified reference posteriors of one task for every n and parameter set."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.references.sbibm import reference_posterior
from tallsbi.study.settings.reference import ReferenceSettings
from tallsbi.study.tasks import simulator

settings = ReferenceSettings.from_params(job.settings)
task, n_obs = simulator(settings.problem), settings.n_obs
x = read_dataset(snakemake.input[0])["x"].values[:, : max(n_obs)]
for index, n in enumerate(n_obs):
    sizes = n, settings.samples, settings.chains
    job.write(reference_posterior(task, x, *sizes, settings.seed, job.progress), index)
