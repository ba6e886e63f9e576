"""What the run has taken per stage, and what the paper's sizes will take."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

from tallsbi.runner.plan import cost_table  # noqa: E402
from tallsbi.storage.files import write_json  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    configfile = Path(folder) / "config.json"
    write_json(job.settings, configfile)
    job.write(cost_table(Path.cwd(), configfile, job.settings["protocol"]))
