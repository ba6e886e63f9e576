"""Parameter sets of one task and their observations."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.study.stages.data import observations  # noqa: E402

task, sizes = snakemake.wildcards.task, job.settings["sbibm"]  # noqa: F821
job.write(observations(task, sizes["sets"], sizes["observations"], job.seed))
