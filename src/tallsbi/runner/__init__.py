"""Snakemake's side of a study: configuration, fingerprints, jobs, logs, costs.

It knows no task and no method by name: such names are passed to it.
"""
