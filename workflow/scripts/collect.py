"""Puts tables of the same columns below each other."""

from tallsbi.study.job import start

job = start(snakemake)  # noqa: F821

import pandas as pd  # noqa: E402

from tallsbi.study.files import read_csv  # noqa: E402

job.write(pd.concat([read_csv(path) for path in snakemake.input], ignore_index=True))  # noqa: F821
