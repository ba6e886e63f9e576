"""A tidy table over all problems."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.columns.catalogue import table_of
from tallsbi.study.settings.collect import CollectSettings
from tallsbi.study.stages.collect import collect

paths = {name: list(files) for name, files in snakemake.input.items()}
for output, table in enumerate(collect(paths, CollectSettings.from_params(job.settings))):
    job.write(table_of(job.output(output)).check(table), output)
