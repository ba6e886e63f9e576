"""Distances of the samples of one task and network to the references."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.distances import distance_table  # noqa: E402
from tallsbi.study.stages.parts import read_joined  # noqa: E402

paths, params = snakemake.input, snakemake.params  # noqa: F821
runs = read_joined(params.methods, paths.samples, "set")
references = {n: read_dataset(path) for n, path in zip(params.n_obs, paths.references, strict=True)}
job.write(distance_table(runs, references, int(snakemake.wildcards.n_train), job.settings))  # noqa: F821
