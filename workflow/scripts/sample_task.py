"""Samples the tall posteriors of a task with one algorithm, plain and clipped, for all n and a part of the sets."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.algorithms import CLIP_SUFFIX
from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.parts import part_of
from tallsbi.study.stages.sampling import sample_task

wildcards, paths = snakemake.wildcards, snakemake.input
saved, observations = read_network(paths.network), read_dataset(paths.observations)
observations = part_of(observations, "set", wildcards.scatteritem)
for output, suffix in (("plain", ""), ("clipped", CLIP_SUFFIX)):
    samples = sample_task(
        wildcards.task,
        wildcards.algorithm + suffix,
        saved,
        observations,
        snakemake.params.n_obs,
        int(wildcards.n_train),
        job.settings,
        partial(job.progress, label="numbers of observations"),
    )
    job.write(samples, output)
