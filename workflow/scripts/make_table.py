"""Makes one table from tidy data, in three formats."""

from tallsbi.runner.job import start

job = start(snakemake)

import importlib

from tallsbi.storage.files import read_csv
from tallsbi.study.tables.render import to_latex, to_markdown

data = {name: read_csv(path) for name, path in snakemake.input.items()}
table = importlib.import_module(snakemake.params.module).make(data, job.settings)
job.write(table.tidy, "csv")
job.write(to_markdown(table, snakemake.params.title), "md")
job.write(to_latex(table, snakemake.params.title), "tex")
