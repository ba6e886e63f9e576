"""Distances for every n_max below each other; n_max = 1 are the ordinary networks."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.storage.files import read_csv  # noqa: E402
from tallsbi.study.stages.partial_distances import partial_table  # noqa: E402

paths = snakemake.input  # noqa: F821
plain, sets = ([read_csv(path) for path in paths.get(name, [])] for name in ("plain", "sets"))
job.write(partial_table(plain, sets, job.settings["methods"], job.settings["n"]))
