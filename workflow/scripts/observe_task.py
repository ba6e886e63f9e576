"""Parameter sets of one task and their observations."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.stages.data import observations

task, sizes = snakemake.wildcards.task, job.settings["sbibm"]
job.write(observations(task, sizes["sets"], sizes["observations"], job.seed))
