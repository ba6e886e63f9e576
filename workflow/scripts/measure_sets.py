"""Distances of all samples from blocks of observations, for one task and N_train."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.partial_distances import set_distances  # noqa: E402

paths = snakemake.input  # noqa: F821
runs = [read_dataset(path) for path in paths.samples]
reference, n = read_dataset(paths.reference), snakemake.params.n  # noqa: F821
job.write(set_distances(runs, reference, n, int(snakemake.wildcards.n_train), job.settings))  # noqa: F821
