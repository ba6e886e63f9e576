"""Times all methods on one toy problem and dimension, with nothing beside it."""

from tallsbi.runner.job import set_threads, start

job = start(snakemake)
set_threads(1)  # the job reserves all cores, so that nothing runs beside it; the methods are timed on one

from functools import partial

from tallsbi.study.settings.toy import ToyTimeSettings
from tallsbi.study.stages.time_toy import time_methods

settings = ToyTimeSettings.from_params(job.settings)
job.write(time_methods(settings, partial(job.progress, label="runs")))
