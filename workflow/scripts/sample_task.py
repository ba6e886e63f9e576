"""Samples the tall posteriors of a task with one algorithm, plain and clipped, for all n and a part of the sets."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from functools import partial  # noqa: E402

from tallsbi.algorithms import CLIP_SUFFIX  # noqa: E402
from tallsbi.scores.network_file import read_network  # noqa: E402
from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.parts import part_of  # noqa: E402
from tallsbi.study.stages.sampling import sample_task  # noqa: E402

wildcards, paths = snakemake.wildcards, snakemake.input  # noqa: F821
saved, observations = read_network(paths.network), read_dataset(paths.observations)
observations = part_of(observations, "set", wildcards.scatteritem)
for output, suffix in (("plain", ""), ("clipped", CLIP_SUFFIX)):
    samples = sample_task(
        wildcards.task,
        wildcards.algorithm + suffix,
        saved,
        observations,
        snakemake.params.n_obs,  # noqa: F821
        int(wildcards.n_train),
        job.settings,
        partial(job.progress, label="numbers of observations"),
    )
    job.write(samples, output)
