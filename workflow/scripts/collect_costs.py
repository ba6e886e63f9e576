"""What the run has cost per stage, and what the paper's sizes will cost."""

from tallsbi.runner.job import start

job = start(snakemake)

import tempfile
from pathlib import Path

from tallsbi.runner.plan import cost_table
from tallsbi.storage.files import write_json
from tallsbi.study.project import STAGES

with tempfile.TemporaryDirectory() as folder:
    configfile = Path(folder) / "config.json"
    write_json(job.settings, configfile)
    job.write(cost_table(Path.cwd(), configfile, job.settings["protocol"], "paper", STAGES))
