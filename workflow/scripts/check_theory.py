"""Numbers for the claims about exact mathematics."""

from tallsbi.runner.job import start

job = start(snakemake)

import pandas as pd

from tallsbi.study.settings.theory import TheorySettings
from tallsbi.study.stages import modes, theory

settings = TheorySettings.from_params(job.settings)
job.write(pd.concat([theory.table(settings), modes.table(settings)], ignore_index=True))
