"""Distances of the samples of one task and network to the references."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.distances import distance_table
from tallsbi.study.stages.parts import read_joined

paths, params = snakemake.input, snakemake.params
runs = read_joined(params.methods, paths.samples, "set")
references = {n: read_dataset(path) for n, path in zip(params.n_obs, paths.references, strict=True)}
job.write(distance_table(runs, references, int(snakemake.wildcards.n_train), job.settings))
