"""Puts the loss curves of the main tasks below each other and marks the networks that sample."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_csv, read_json
from tallsbi.study.stages.collect import loss_table

paths, params = snakemake.input, snakemake.params
curves = [(key, read_csv(path)) for key, path in zip(params.settings, paths.curves, strict=True)]
chosen = {tuple(cell): read_json(path) for cell, path in zip(params.cells, paths.choices, strict=True)}
job.write(loss_table(curves, chosen))
