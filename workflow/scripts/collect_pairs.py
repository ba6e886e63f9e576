"""Draws of the references and of GAUSS for the pair plots, and the true parameters."""

from tallsbi.runner.job import start

job = start(snakemake)

from itertools import product

from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.collect import pair_table, truth_table

SET = 0  # the first parameter set
paths, tasks, n_obs = snakemake.input, job.settings["tasks"], job.settings["n_obs"]
references = dict(zip(product(tasks, n_obs), paths.references, strict=True))
samples = {task: read_dataset(path) for task, path in zip(tasks, paths.samples, strict=True)}
sources = [
    source
    for (task, n), path in references.items()
    for source in ((task, n, "reference", read_dataset(path)), (task, n, "GAUSS", samples[task]))
]
job.write(pair_table(sources, SET), "pairs")
observations = {task: read_dataset(path) for task, path in zip(tasks, paths.observations, strict=True)}
job.write(truth_table(observations, SET), "truth")
