"""Samples the toy posteriors of one problem and dimension with one method, for all n and seeds."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.study.stages.toy_sampling import sample_cells

wildcards, params = snakemake.wildcards, snakemake.params
cell = params.get("cell") or {"dim": wildcards.m, "noise": wildcards.noise}
samples = sample_cells(
    wildcards.problem,
    int(cell["dim"]),
    float(cell["noise"]),
    wildcards.method,
    params.n_obs,
    job.settings,
    progress=partial(job.progress, label="observations"),
)
job.write(samples)
