"""Observations of the true parameters of a problem, or calibration pairs."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.settings.simulate import ObserveSettings
from tallsbi.study.stages.simulate import calibration, observations
from tallsbi.study.tasks import simulator

settings = ObserveSettings.from_params(job.settings)
observe = calibration if settings.calibration else observations
problem = simulator(settings.problem)
job.write(observe(problem, settings.sets, settings.count, settings.seed, job.threads))
