"""Makes the report page of a run."""

from tallsbi.runner.job import start

job = start(snakemake)

from pathlib import Path

from tallsbi.study.report.gather import Origin, Sources
from tallsbi.study.report.record import Record, write
from tallsbi.study.report.render import to_html


def origins(made):
    """Paths of a rule count from the working directory, those of the page from where it lies."""
    return {
        name: Origin(module, {key: str(Path(path).resolve()) for key, path in data.items()})
        for name, (module, data) in made.items()
    }


page_path = job.output("page").resolve()
run = page_path.parents[1]
record = Record(
    origins(snakemake.params.figures),
    origins(snakemake.params.tables),
    job.settings,
    snakemake.params.versions,
)
page = record.gather(Sources(Path(snakemake.scriptdir).resolve().parents[1], run, page_path))
write(record, page, run, job.output("record"))
job.write(to_html(page), "page")
