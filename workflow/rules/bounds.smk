"""The benchmark with the other factor on the bounds of uniform priors: what `uniform_bounds_factor` decides.

The doubled bounds of the published runs beside the true ones, whichever of them the run has elsewhere, with the same
networks, observations and random numbers. For the claims ledger, which shows the verdicts of both.
"""

OTHER_FACTOR = 2.0 if CFG["fidelity"]["uniform_bounds_factor"] == 1 else 1.0
BOUNDS_TASKS = [task for task in CFG["sbibm"]["bounds_tasks"] if task in TASKS]
OTHER_BOUNDS = "{task}/n_train~{n_train}/other_bounds"


def other_bounds_sampling(wildcards):
    return {
        **sbibm_sampling(wildcards.algorithm, wildcards.task),
        "fidelity": {"uniform_bounds_factor": OTHER_FACTOR},
    }


use rule sample_task as sample_other_bounds with:
    output:
        plain=f"{SBIBM}/{OTHER_BOUNDS}/samples/{{algorithm}}/sets~{{scatteritem}}.nc",
        clipped=f"{SBIBM}/{OTHER_BOUNDS}/samples/{{algorithm}}-clip/sets~{{scatteritem}}.nc",
    log:
        f"{LOGS}/sbibm/{OTHER_BOUNDS}/samples/{{algorithm}}/sets~{{scatteritem}}.log",
    benchmark:
        f"{RECORDS}/sbibm/{OTHER_BOUNDS}/samples/{{algorithm}}/sets~{{scatteritem}}.tsv"
    params:
        code=lambda w: code("sample_task", module_of(w.algorithm), task_module(w.task)),
        config=other_bounds_sampling,
        n_obs=CFG["sbibm"]["n_obs"],
        versions=versions("numpy", "torch"),


use rule measure_task as measure_other_bounds with:
    input:
        references=expand(f"{SBIBM}/{{{{task}}}}/references/n~{{n}}.nc", n=CFG["sbibm"]["n_obs"]),
        samples=[
            path
            for method in SBIBM_RUNS
            for path in samples_of("{{task}}", "{{n_train}}", method, "other_bounds/samples")
        ],
    output:
        f"{SBIBM}/{OTHER_BOUNDS}/distances.csv",
    log:
        f"{LOGS}/sbibm/{OTHER_BOUNDS}/distances.log",
    benchmark:
        f"{RECORDS}/sbibm/{OTHER_BOUNDS}/distances.tsv"


use rule collect_sbibm as collect_other_bounds with:
    input:
        [f"{SBIBM}/{task}/n_train~{LARGEST}/other_bounds/distances.csv" for task in BOUNDS_TASKS],
    output:
        f"{SBIBM}/other_bounds.csv",
    log:
        f"{LOGS}/sbibm/other_bounds.log",
