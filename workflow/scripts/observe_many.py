"""Many observations of the first parameter sets of one task, and certified references at every n."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.settings.time import ManySettings
from tallsbi.study.stages.many import many_observations, many_references

settings = ManySettings.from_params(job.settings)
observed = many_observations(settings)
references = many_references(settings, observed, job.progress)
job.write(observed, "observations")
job.write(references, "references")
