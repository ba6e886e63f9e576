"""l-C2ST of one algorithm, plain and clipped, for n observations."""

from tallsbi.runner.job import start

job = start(snakemake)

import pandas as pd

from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.jrnmm_validation import lc2st_table
from tallsbi.study.stages.parts import read_joined

paths, n, settings = snakemake.input, int(snakemake.wildcards.n), job.settings["jrnmm"]["lc2st"]
calibration, observations = read_dataset(paths.calibration), read_dataset(paths.observations)
normaliser = read_network(paths.network).normaliser if settings["normalise"] else None
names = ["plain", "clipped"]
drawn, samples = read_joined(names, paths.drawn, "pair"), read_joined(names, paths.samples, "n")
tables = [
    lc2st_table(
        calibration,
        drawn[name],
        observations,
        samples[name],
        n,
        normaliser,
        classifiers=settings["classifiers"],
        permutations=settings["permutations"],
    )
    for name in names
]
job.write(pd.concat(tables, ignore_index=True))
