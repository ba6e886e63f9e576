"""Certified reference posteriors of one task for n observations of every parameter set."""

from tallsbi.study.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.references.benchmark import reference_posterior  # noqa: E402
from tallsbi.study.files import read_dataset  # noqa: E402
from tallsbi.tasks import load  # noqa: E402

task, n = load(snakemake.wildcards.task), int(snakemake.wildcards.n)  # noqa: F821
observations = read_dataset(snakemake.input[0])  # noqa: F821
settings = job.settings["sbibm"]
job.write(
    reference_posterior(
        task,
        observations["x"].values[:, :n],
        n,
        settings["samples"],
        settings["reference"],
        job.seed,
        job.progress,
    )
)
