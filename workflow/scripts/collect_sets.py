"""Distances for every n_max below each other; n_max = 1 are the ordinary networks."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_csv
from tallsbi.study.stages.partial_distances import partial_table

paths = snakemake.input
plain, sets = ([read_csv(path) for path in paths.get(name, [])] for name in ("plain", "sets"))
job.write(partial_table(plain, sets, job.settings["methods"], job.settings["n"]))
