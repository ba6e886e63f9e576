"""Samples of the two-dimensional illustration."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.study.stages.pedagogical import illustrate  # noqa: E402

job.write(illustrate(job.settings))
