"""Beyond the paper: accuracy against time steps and time, and posteriors of many observations."""

EXT_METHODS = methods_of("beyond")
STEPS, MANY = CFG["sbibm"]["steps"], CFG["sbibm"]["many"]
# As far as there are references for them; else the largest n there is.
STEPS_N_OBS = [n for n in STEPS["n_obs"] if n in CFG["sbibm"]["n_obs"]] or [max(CFG["sbibm"]["n_obs"])]
STEPS_TASKS, MANY_TASKS = ([task for task in plan["tasks"] if task in TASKS] for plan in (STEPS, MANY))
MANY_METHODS = {method: EXT_METHODS[method] for method in MANY["methods"] if method in EXT_METHODS}
LARGEST = max(N_TRAIN)


def extension_sampling(methods, **plan):
    """Settings of a sampling job with several methods."""
    return {
        **pick(
            "seed",
            "device",
            "dtype",
            "clip",
            "ddim",
            "metrics.projections",
            "metrics.self_distances",
            "fidelity.uniform_bounds_factor",
        ),
        "switch_over": CFG["fidelity"]["uniform_switch"],
        "methods": methods,
        **plan,
    }


def steps_rows(_):
    return STEPS["sets"] * sum(
        network_rows({**method, "steps": steps}, STEPS["samples"], n)
        for method in EXT_METHODS.values()
        for steps in STEPS["grid"]
        for n in STEPS_N_OBS
    )


def many_rows(_):
    return MANY["sets"] * sum(
        network_rows({**method, "steps": min(method["steps"], MANY["max_steps"])}, MANY["samples"], n)
        for method in MANY_METHODS.values()
        for n in MANY["n_obs"]
    )


rule sample_steps:
    input:
        network=f"{SBIBM}/{{task}}/n_train~{LARGEST}/network.safetensors",
        observations=f"{SBIBM}/{{task}}/observations.nc",
        references=expand(f"{SBIBM}/{{{{task}}}}/references/n~{{n}}.nc", n=STEPS_N_OBS),
    output:
        f"{SBIBM}/{{task}}/steps.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/steps.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/steps.tsv"
    threads: ALONE
    resources:
        **cost("sample_steps/{task}", steps_rows, gpu=True),
    params:
        n_train=LARGEST,
        code=lambda w: code(
            "sample_steps", *(module_of(method) for method in EXT_METHODS), task_module(w.task)
        ),
        config=extension_sampling(
            EXT_METHODS,
            steps={**{key: STEPS[key] for key in ("sets", "samples", "grid")}, "n_obs": STEPS_N_OBS},
        ),
        versions=versions("numpy", "POT", "torch"),
    script:
        "../scripts/sample_steps.py"


rule observe_many:
    output:
        observations=f"{SBIBM}/{{task}}/many/observations.nc",
        references=f"{SBIBM}/{{task}}/many/references.nc",
    log:
        f"{LOGS}/sbibm/{{task}}/many/observations.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/many/observations.tsv"
    resources:
        **cost("observe_many/{task}", MANY["sets"] * sum(MANY["n_obs"])),
    params:
        code=lambda w: code("observe_many", task_module(w.task)),
        config={
            **pick("seed"),
            **{key: MANY[key] for key in ("sets", "n_obs", "samples")},
            "reference": CFG["sbibm"]["reference"],
        },
        versions=versions("arviz", "jax", "numba", "numpy", "numpyro", "torch"),
    script:
        "../scripts/observe_many.py"


rule sample_many:
    input:
        network=f"{SBIBM}/{{task}}/n_train~{LARGEST}/network.safetensors",
        observations=f"{SBIBM}/{{task}}/many/observations.nc",
        references=f"{SBIBM}/{{task}}/many/references.nc",
    output:
        f"{SBIBM}/{{task}}/many.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/many/samples.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/many/samples.tsv"
    threads: ALONE
    resources:
        **cost("sample_many/{task}", many_rows, gpu=True),
    params:
        n_train=LARGEST,
        code=lambda w: code(
            "sample_many", *(module_of(method) for method in MANY_METHODS), task_module(w.task)
        ),
        config=extension_sampling(
            MANY_METHODS, many={key: MANY[key] for key in ("sets", "n_obs", "samples", "max_steps")}
        ),
        versions=versions("numpy", "POT", "torch"),
    script:
        "../scripts/sample_many.py"


EXTENSION_COLLECTIONS = {
    "steps": [f"{SBIBM}/{task}/steps.csv" for task in STEPS_TASKS],
    "many": [f"{SBIBM}/{task}/many.csv" for task in MANY_TASKS],
}


rule collect_extension:
    input:
        lambda w: EXTENSION_COLLECTIONS[w.extension],
    output:
        f"{SBIBM}/{{extension}}.csv",
    log:
        f"{LOGS}/sbibm/{{extension}}.log",
    wildcard_constraints:
        extension=one_of(EXTENSION_COLLECTIONS),
    params:
        code=code("collect"),
        config={},
        versions=versions("pandas"),
    script:
        "../scripts/collect.py"
