"""Reference posteriors of one toy problem and dimension, for all n and seeds."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.references.toy import reference_draws, reference_size
from tallsbi.study.settings.toy import ToyReferenceSettings
from tallsbi.study.tasks.toy import make_toy

settings = ToyReferenceSettings.from_params(job.settings)
toy = make_toy(settings.cell, max(settings.n_obs), settings.seed)
count = reference_size(settings.samples)
job.write(reference_draws(toy, settings.n_obs, count, settings.chains, settings.seed))
