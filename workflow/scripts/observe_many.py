"""Many observations of the first parameter sets of one task, and certified references at every n."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.stages.many_data import observations, references

task, settings = snakemake.wildcards.task, job.settings
observed = observations(task, settings["sets"], max(settings["n_obs"]), job.seed)
truth = references(
    task,
    observed["x"].values,
    settings["n_obs"],
    settings["samples"],
    ChainSettings.from_params(settings["reference"]),
    job.seed,
    job.progress,
)
job.write(observed, "observations")
job.write(truth, "references")
