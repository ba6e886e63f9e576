"""Makes one table from tidy data, in three formats."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

import importlib  # noqa: E402

from tallsbi.storage.files import read_csv  # noqa: E402
from tallsbi.study.tables.render import to_latex, to_markdown  # noqa: E402

data = {name: read_csv(path) for name, path in snakemake.input.items()}  # noqa: F821
table = importlib.import_module(snakemake.params.module).make(data, job.settings)  # noqa: F821
job.write(table.tidy, "csv")
job.write(to_markdown(table, snakemake.params.title), "md")  # noqa: F821
job.write(to_latex(table, snakemake.params.title), "tex")  # noqa: F821
