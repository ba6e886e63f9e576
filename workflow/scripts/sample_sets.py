"""Samples the tall posteriors of one task from blocks of observations, with every method shown."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.scores.group_network import read_group_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.partial import sample_sets

paths, params = snakemake.input, snakemake.params
saved, encoding = read_group_network(paths.network)
observations = read_dataset(paths.observations)
for method in partial(job.progress, label="methods")(params.methods):
    settings = {**job.settings, "method": job.settings["methods"][method]}
    job.write(
        sample_sets(
            method,
            saved,
            encoding,
            observations,
            params.n,
            int(snakemake.wildcards.n_train),
            settings,
        ),
        params.methods.index(method),
    )
