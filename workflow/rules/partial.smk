"""Partial factorisation (appendix): networks on sets of up to n_max observations, for the tasks of the main text."""

PARTIAL = CFG["sbibm"]["partial"]
PARTIAL_N = max(CFG["sbibm"]["n_obs"])
PARTIAL_METHODS = [method for method in PARTIAL["methods"] if method in SBIBM_METHODS]
# n_max = 1 is the ordinary network: its distances are there already.
SET_SIZES = [n_max for n_max in PARTIAL["n_max"] if n_max > 1]
SET_CELLS = [(task, n_train) for task in MAIN_TASKS for n_train in N_TRAIN]
SET_FOLDER = f"{SBIBM}/{{task}}/n_train~{{n_train}}/sets"


wildcard_constraints:
    n_max=r"\d+",
    encoder=one_of(PARTIAL["encoders"]),


def set_training(wildcards):
    choice = published_choice(wildcards.task)
    return {
        **common_training(),
        "learning_rate": float(choice["learning_rate"]),
        "batch_size": int(choice["batch_size"]),
    }


def set_sampling(wildcards):
    """Settings of a sampling job: those of every method, as in the rest of the benchmark."""
    settings = {method: sbibm_sampling(method, wildcards.task) for method in PARTIAL_METHODS}
    common = {key: value for each in settings.values() for key, value in each.items() if key != "method"}
    return {**common, "methods": {method: each["method"] for method, each in settings.items()}}


def set_training_rows(wildcards):
    # Sixty places of a set are encoded in the time one row goes through the network.
    places = int(wildcards.n_max) if wildcards.encoder == "deep_set" else 0
    return training_rows(set_training(wildcards), int(wildcards.n_train)) * (1 + places / 60)


def set_sampling_rows(wildcards):
    blocks = -(-PARTIAL_N // int(wildcards.n_max))
    samples, sets = CFG["sbibm"]["samples"], CFG["sbibm"]["sets"]
    methods = set_sampling(wildcards)["methods"].values()
    return sum(network_rows(method, samples, blocks, sets) for method in methods)


rule simulate_sets:
    output:
        f"{SBIBM}/{{task}}/sets.nc",
    log:
        f"{LOGS}/sbibm/{{task}}/sets.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/sets.tsv"
    resources:
        **cost("simulate_sets/{task}", max(N_TRAIN) * max(PARTIAL["n_max"]) / 100),
    params:
        code=lambda w: code("simulate_sets", task_module(w.task)),
        config={**pick("seed"), "simulations": max(N_TRAIN), "members": max(PARTIAL["n_max"])},
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/simulate_sets.py"


rule train_sets:
    input:
        f"{SBIBM}/{{task}}/sets.nc",
    output:
        network=f"{SET_FOLDER}/n_max~{{n_max}}-{{encoder}}/network.safetensors",
        losses=f"{SET_FOLDER}/n_max~{{n_max}}-{{encoder}}/losses.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/sets/n_max~{{n_max}}-{{encoder}}/training.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/n_train~{{n_train}}/sets/n_max~{{n_max}}-{{encoder}}/training.tsv"
    resources:
        **cost("train_sets/{encoder}", set_training_rows, gpu=True),
    params:
        code=lambda w: code("train_sets", task_module(w.task)),
        config=set_training,
        checkpoints=f"{SET_FOLDER}/n_max~{{n_max}}-{{encoder}}/checkpoints",
        versions=versions("numpy", "torch"),
    script:
        "../scripts/train_sets.py"


rule sample_sets:
    input:
        network=f"{SET_FOLDER}/n_max~{{n_max}}-{{encoder}}/network.safetensors",
        observations=f"{SBIBM}/{{task}}/observations.nc",
    output:
        [f"{SET_FOLDER}/n_max~{{n_max}}-{{encoder}}/samples/{method}.nc" for method in PARTIAL_METHODS],
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/sets/n_max~{{n_max}}-{{encoder}}/samples.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/n_train~{{n_train}}/sets/n_max~{{n_max}}-{{encoder}}/samples.tsv"
    resources:
        **cost("sample_sets/{encoder}/{task}", set_sampling_rows, gpu=True),
    params:
        code=lambda w: code(
            "sample_sets", *[module_of(method) for method in PARTIAL_METHODS], task_module(w.task)
        ),
        config=set_sampling,
        methods=PARTIAL_METHODS,
        n=PARTIAL_N,
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_sets.py"


rule measure_sets:
    input:
        reference=f"{SBIBM}/{{task}}/references/n~{PARTIAL_N}.nc",
        samples=[
            f"{SET_FOLDER}/n_max~{n_max}-{encoder}/samples/{method}.nc"
            for n_max in SET_SIZES
            for encoder in PARTIAL["encoders"]
            for method in PARTIAL_METHODS
        ],
    output:
        f"{SET_FOLDER}/distances.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/sets/distances.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/n_train~{{n_train}}/sets/distances.tsv"
    resources:
        **cost(
            "measure_sets/{task}",
            len(SET_SIZES) * len(PARTIAL["encoders"]) * len(PARTIAL_METHODS) * comparisons([PARTIAL_N]),
        ),
    params:
        code=code("measure_sets"),
        config=pick("seed", "metrics.projections", "metrics.c2st_backend"),
        n=PARTIAL_N,
        versions=versions("numpy", "POT", "torch"),
    script:
        "../scripts/measure_sets.py"


rule collect_sets:
    input:
        plain=[
            f"{SBIBM}/{task}/n_train~{n_train}/distances.csv"
            for task, n_train in SET_CELLS
            if 1 in PARTIAL["n_max"]
        ],
        sets=[
            f"{SBIBM}/{task}/n_train~{n_train}/sets/distances.csv"
            for task, n_train in SET_CELLS
            if SET_SIZES
        ],
    output:
        f"{SBIBM}/partial.csv",
    log:
        f"{LOGS}/sbibm/partial.log",
    params:
        code=code("collect_sets"),
        config={"methods": PARTIAL_METHODS, "n": PARTIAL_N},
        versions=versions("pandas"),
    script:
        "../scripts/collect_sets.py"
