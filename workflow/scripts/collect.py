"""Puts tables of the same columns below each other."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

import pandas as pd  # noqa: E402

from tallsbi.storage.files import read_csv  # noqa: E402

job.write(pd.concat([read_csv(path) for path in snakemake.input], ignore_index=True))  # noqa: F821
