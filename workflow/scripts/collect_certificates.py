"""The certificates of all reference posteriors."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.storage.files import read_dataset
from tallsbi.study.references.tidy import certificate_table

cells, paths = snakemake.params.cells, snakemake.input
job.write(certificate_table([(*cell, read_dataset(path)) for cell, path in zip(cells, paths, strict=True)]))
