"""l-C2ST of one algorithm, plain and clipped, for n observations."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

import pandas as pd  # noqa: E402

from tallsbi.scores.network_file import read_network  # noqa: E402
from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.jrnmm_validation import lc2st_table  # noqa: E402
from tallsbi.study.stages.parts import read_joined  # noqa: E402

paths, n, settings = snakemake.input, int(snakemake.wildcards.n), job.settings["jrnmm"]["lc2st"]  # noqa: F821
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
