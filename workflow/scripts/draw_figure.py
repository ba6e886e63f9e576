"""Draws one figure from tidy tables."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.figures.style import context
from tallsbi.study.make_artifact import make

figure = make(snakemake.params.function, snakemake.input.items(), job.settings)
with context():
    for form in ("pdf", "png", "svg"):
        job.write(figure, form)
