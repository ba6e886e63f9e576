"""Makes the report page of a run."""

from tallsbi.runner.job import start

job = start(snakemake)

from pathlib import Path

from tallsbi.study.report.gather import Sources, gather
from tallsbi.study.report.record import RunRecord, write
from tallsbi.study.report.render import to_html

page_path = job.output("page").resolve()
run = page_path.parents[1]
params = {**snakemake.params.page, "config": job.settings, "versions": snakemake.params.versions}
# Paths of a rule are relative to the working directory, those of the page to its own folder.
record = RunRecord.from_params(params).with_paths(lambda path: str(Path(path).resolve()))
page = gather(Sources(Path(snakemake.scriptdir).resolve().parents[1], run, page_path), record)
write(record, page.facts, run, job.output("record"))
job.write(to_html(page), "page")
