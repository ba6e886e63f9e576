"""Draws one figure from tidy tables."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

import importlib  # noqa: E402

from tallsbi.storage.files import read_csv  # noqa: E402
from tallsbi.study.figures.style import context  # noqa: E402

data = {name: read_csv(path) for name, path in snakemake.input.items()}  # noqa: F821
figure = importlib.import_module(snakemake.params.module).draw(data, job.settings)  # noqa: F821
with context():
    job.write(figure, "pdf")
    job.write(figure, "png")
