"""The certificates of all reference posteriors."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.collect import certificate_table  # noqa: E402

cells, paths = snakemake.params.cells, snakemake.input  # noqa: F821
job.write(certificate_table([(*cell, read_dataset(path)) for cell, path in zip(cells, paths, strict=True)]))
