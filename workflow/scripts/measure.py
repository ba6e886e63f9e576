"""Distances of the samples of one task and network size to the references."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.measure import MeasureSettings
from tallsbi.study.stages.batches import read_joined
from tallsbi.study.stages.measure import distance_table

settings = MeasureSettings.from_params(job.settings)
runs = read_joined(settings.runs, snakemake.input.samples, "set").values()
paths = zip(settings.n_obs, snakemake.input.references, strict=True)
job.write(distance_table(list(runs), {n: read_dataset(path) for n, path in paths}, settings))
