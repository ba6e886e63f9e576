"""Numbers for the claims about exact mathematics."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

import pandas as pd  # noqa: E402

from tallsbi.study.claims import modes, theory  # noqa: E402

plan = job.settings["modes"]
counted = modes.table(plan["tasks"], plan["sets"], plan["n"], job.settings)
job.write(pd.concat([theory.table(job.settings), counted], ignore_index=True))
