"""l-C2ST of one algorithm, plain and clipped, for n observations."""

from tallsbi.runner.job import start

job = start(snakemake)

import pandas as pd

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.measure import CalibrationTestSettings
from tallsbi.study.stages.batches import read_joined
from tallsbi.study.stages.calibration import lc2st_table

settings, paths = CalibrationTestSettings.from_params(job.settings), snakemake.input
calibration, observations = read_dataset(paths.calibration), read_dataset(paths.observations)
normaliser = read_network(paths.network).normaliser if settings.normalise else None
names = ["plain", "clipped"]
drawn, samples = read_joined(names, paths.drawn, "set"), read_joined(names, paths.samples, "n")
tables = [
    lc2st_table(calibration, drawn[name], observations, samples[name], settings, normaliser) for name in names
]
job.write(pd.concat(tables, ignore_index=True))
