"""Numbers for the claims about exact mathematics."""

from tallsbi.runner.job import start

job = start(snakemake)

import pandas as pd

from tallsbi.study.stages import modes, theory

plan = job.settings["modes"]
counted = modes.table(plan["tasks"], plan["sets"], plan["n"], job.settings)
job.write(pd.concat([theory.table(job.settings), counted], ignore_index=True))
