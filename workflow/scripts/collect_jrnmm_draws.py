"""Draws of the neuroscience posteriors for the figures."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.jrnmm_tidy import draw_table

# As many as a density estimate can show.
MOST = 2000

tall, single = (map(read_dataset, paths) for paths in (snakemake.input.tall, snakemake.input.single))
job.write(draw_table(tall, single, MOST))
