"""Puts tables of the same columns below each other."""

from tallsbi.runner.job import start

job = start(snakemake)

import pandas as pd

from tallsbi.storage.files import read_csv

job.write(pd.concat([read_csv(path) for path in snakemake.input], ignore_index=True))
