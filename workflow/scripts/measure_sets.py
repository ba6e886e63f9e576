"""Distances of all samples from blocks of observations, for one task and N_train."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.partial_distances import set_distances

paths = snakemake.input
runs = [read_dataset(path) for path in paths.samples]
reference, n = read_dataset(paths.reference), snakemake.params.n
job.write(set_distances(runs, reference, n, int(snakemake.wildcards.n_train), job.settings))
