"""Training simulations of a problem."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.settings.simulate import SimulateSettings
from tallsbi.study.stages.simulate import simulations
from tallsbi.study.tasks import simulator

settings = SimulateSettings.from_params(job.settings)
problem = simulator(settings.problem)
job.write(simulations(problem, settings.count, settings.seed, settings.members, job.threads))
