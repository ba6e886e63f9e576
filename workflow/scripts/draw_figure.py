"""Draws one figure from tidy tables."""

from tallsbi.runner.job import start

job = start(snakemake)

import importlib

from tallsbi.storage.files import read_csv
from tallsbi.study.figures.style import context

data = {name: read_csv(path) for name, path in snakemake.input.items()}
figure = importlib.import_module(snakemake.params.module).draw(data, job.settings)
with context():
    job.write(figure, "pdf")
    job.write(figure, "png")
