"""Samples of the two-dimensional illustration."""

from tallsbi.study.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.toy.pedagogical import illustrate  # noqa: E402

job.write(illustrate(job.settings))
