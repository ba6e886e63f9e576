"""Samples the tall posteriors of a part of the sets with GAUSS and the prior score that the network has learned."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from functools import partial  # noqa: E402

from tallsbi.scores.network_file import read_network  # noqa: E402
from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.parts import part_of  # noqa: E402
from tallsbi.study.stages.sampling import sample_task  # noqa: E402

wildcards, paths = snakemake.wildcards, snakemake.input  # noqa: F821
samples = sample_task(
    wildcards.task,
    "GAUSS",
    read_network(paths.network),
    part_of(read_dataset(paths.observations), "set", wildcards.scatteritem),
    snakemake.params.n_obs,  # noqa: F821
    int(wildcards.n_train),
    job.settings,
    partial(job.progress, label="numbers of observations"),
    learned_prior=True,
)
job.write(samples)
