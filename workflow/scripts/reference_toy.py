"""Reference posteriors of one toy problem and dimension, for all n and seeds."""

from tallsbi.runner.job import start

job = start(snakemake)

from tallsbi.study.references.toy import reference_draws, reference_size

wildcards, toy = snakemake.wildcards, job.settings["toy"]
count = reference_size(toy["samples"])
job.write(reference_draws(wildcards.problem, int(wildcards.m), toy["n_obs"], count, job.settings))
