"""Samples the tall posteriors of a part of the sets with GAUSS and the prior score that the network has learned."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.parts import part_of
from tallsbi.study.stages.sampling import sample_task

wildcards, paths = snakemake.wildcards, snakemake.input
samples = sample_task(
    wildcards.task,
    "GAUSS",
    read_network(paths.network),
    part_of(read_dataset(paths.observations), "set", wildcards.scatteritem),
    snakemake.params.n_obs,
    int(wildcards.n_train),
    job.settings,
    partial(job.progress, label="numbers of observations"),
    learned_prior=True,
)
job.write(samples)
