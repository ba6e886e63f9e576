"""Samples the tall posteriors of one task from blocks of observations, with every method shown."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from functools import partial  # noqa: E402

from tallsbi.scores.group_network import read_group_network  # noqa: E402
from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.partial import sample_sets  # noqa: E402

paths, params = snakemake.input, snakemake.params  # noqa: F821
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
            int(snakemake.wildcards.n_train),  # noqa: F821
            settings,
        ),
        params.methods.index(method),
    )
