"""Makes one table from tidy data, in three formats."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.make_artifact import make
from tallsbi.study.tables.render import to_latex, to_markdown

table = make(snakemake.params.function, snakemake.input.items(), job.settings)
job.write(table.tidy, "csv")
job.write(to_markdown(table, snakemake.params.title), "md")
job.write(to_latex(table, snakemake.params.title), "tex")
