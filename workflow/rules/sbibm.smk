"""The benchmark (section 4.2): simulate, train, select, reference, sample, measure."""

SBIBM = f"{RESULTS}/sbibm"
MAIN_TASKS, EXTRA_TASKS = CFG["sbibm"]["tasks"], CFG["sbibm"]["extra_tasks"]
TASKS = [*MAIN_TASKS, *EXTRA_TASKS]
SBIBM_METHODS = methods_of("sbibm")
SBIBM_RUNS = [name + suffix for name in SBIBM_METHODS for suffix in ("", "-clip")]
N_TRAIN = CFG["sbibm"]["n_train"]


wildcard_constraints:
    task=one_of(TASKS),
    n_train=r"\d+",
    batch_size=r"\d+",
    learning_rate=r"[0-9.e-]+",


def published_choice(task):
    """Learning rate and batch size of the task's network in the published runs."""
    training = CFG["sbibm"]["training"]
    return training["exceptions"].get(
        task, {"learning_rate": training["learning_rate"], "batch_size": training["batch_size"]}
    )


def candidates(task):
    """What is trained: the whole grid for the tasks of the main text, the published choice for the others."""
    training = CFG["sbibm"]["training"]
    if task not in MAIN_TASKS:
        return [published_choice(task)]
    return [
        {"learning_rate": rate, "batch_size": size}
        for size in training["batch_sizes"]
        for rate in training["learning_rates"]
    ]


def candidate_path(task, n_train, candidate, name):
    folder = f"bs~{candidate['batch_size']}-lr~{candidate['learning_rate']:g}"
    return f"{SBIBM}/{task}/training/n_train~{n_train}/{folder}/{name}"


def common_training(study="sbibm"):
    """What all trainings of a study share."""
    training, fidelity = CFG["sbibm"]["training"], CFG["fidelity"]
    return {
        **pick("seed", "device"),
        "epochs": CFG[study]["epochs"],
        **{key: training[key] for key in ("ema_decay", "validation_share", "patience", "min_epochs")},
        "early_stopping": fidelity["early_stopping"],
        "layer_norm": fidelity["layer_norm"],
    }


def training_settings(wildcards):
    return {
        **common_training(),
        "learning_rate": float(wildcards.learning_rate),
        "batch_size": int(wildcards.batch_size),
    }


def sbibm_sampling(method, task):
    """Settings of a benchmark sampling job."""
    settings = SBIBM_METHODS[method]
    most = CFG["sbibm"]["max_steps" if task in MAIN_TASKS else "extra_max_steps"]
    return {
        **pick("seed", "device", "dtype", "clip", "ddim", "sbibm.samples", "fidelity.uniform_bounds_factor"),
        "switch_over": CFG["fidelity"]["uniform_switch"],
        "method": {**settings, "steps": min(settings["steps"], most)},
    }


def sampling_rows(method, task):
    """Work of a method for all parameter sets."""
    settings, study = sbibm_sampling(method, task)["method"], CFG["sbibm"]
    return sum(network_rows(settings, study["samples"], n, study["sets"]) for n in study["n_obs"])


def comparisons(n_obs=CFG["sbibm"]["n_obs"]):
    """Hundreds of samples that are compared with a reference, for one method."""
    return CFG["sbibm"]["sets"] * len(n_obs) * CFG["sbibm"]["samples"] / 100


def reference_draws():
    """Hundreds of draws of the chains behind the references of a task."""
    reference = CFG["sbibm"]["reference"]
    return (
        CFG["sbibm"]["sets"] * len(CFG["sbibm"]["n_obs"]) * (reference["warmup"] + reference["draws"]) / 100
    )


SET_BATCHES = min(CFG["sbibm"]["batches"], CFG["sbibm"]["sets"])


# The parameter sets of a sampling job, in parts that a cluster can do side by side.
scattergather:
    sets=SET_BATCHES,


def samples_of(task, n_train, method, folder="samples"):
    """The samples of a method, all parts."""
    return gather.sets(f"{SBIBM}/{task}/n_train~{n_train}/{folder}/{method}/sets~{{scatteritem}}.nc")


rule simulate_task:
    output:
        f"{SBIBM}/{{task}}/simulations.nc",
    log:
        f"{LOGS}/sbibm/{{task}}/simulations.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/simulations.tsv"
    resources:
        **cost("simulate_task/{task}", CFG["sbibm"]["simulations"] / 100),
    params:
        code=lambda w: code("simulate_task", task_module(w.task)),
        config=pick("seed", "sbibm.simulations"),
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/simulate_task.py"


rule observe_task:
    output:
        f"{SBIBM}/{{task}}/observations.nc",
    log:
        f"{LOGS}/sbibm/{{task}}/observations.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/observations.tsv"
    resources:
        **cost("observe_task/{task}", CFG["sbibm"]["sets"] * CFG["sbibm"]["observations"]),
    params:
        code=lambda w: code("observe_task", task_module(w.task)),
        config=pick("seed", "sbibm.sets", "sbibm.observations"),
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/observe_task.py"


rule reference_task:
    input:
        f"{SBIBM}/{{task}}/observations.nc",
    output:
        expand(f"{SBIBM}/{{{{task}}}}/references/n~{{n}}.nc", n=CFG["sbibm"]["n_obs"]),
    log:
        f"{LOGS}/sbibm/{{task}}/references.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/references.tsv"
    resources:
        **cost("reference_task/{task}", reference_draws()),
    params:
        code=lambda w: code("reference_task", task_module(w.task)),
        config=pick("seed", "sbibm.samples", "sbibm.reference"),
        n_obs=CFG["sbibm"]["n_obs"],
        versions=versions("arviz", "jax", "numpy", "numpyro"),
    script:
        "../scripts/reference_task.py"


rule train_network:
    input:
        f"{SBIBM}/{{task}}/simulations.nc",
    output:
        network=f"{SBIBM}/{{task}}/training/n_train~{{n_train}}/bs~{{batch_size}}-lr~{{learning_rate}}/network.safetensors",
        losses=f"{SBIBM}/{{task}}/training/n_train~{{n_train}}/bs~{{batch_size}}-lr~{{learning_rate}}/losses.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/training/n_train~{{n_train}}/bs~{{batch_size}}-lr~{{learning_rate}}.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/training/n_train~{{n_train}}/bs~{{batch_size}}-lr~{{learning_rate}}.tsv"
    resources:
        **cost("train_network", lambda w: training_rows(training_settings(w), int(w.n_train)), gpu=True),
    params:
        code=lambda w: code("train_network", task_module(w.task)),
        config=training_settings,
        checkpoints=f"{SBIBM}/{{task}}/checkpoints/n_train~{{n_train}}/bs~{{batch_size}}-lr~{{learning_rate}}",
        versions=versions("numpy", "torch"),
    script:
        "../scripts/train_network.py"


rule select_network:
    input:
        networks=lambda w: [
            candidate_path(w.task, w.n_train, candidate, "network.safetensors")
            for candidate in candidates(w.task)
        ],
    output:
        network=f"{SBIBM}/{{task}}/n_train~{{n_train}}/network.safetensors",
        choice=f"{SBIBM}/{{task}}/n_train~{{n_train}}/choice.json",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/selection.log",
    params:
        task=lambda w: w.task,
        code=code("select_network"),
        config=lambda w: {
            "rule": "stated" if CFG["fidelity"]["early_stopping"] else "published",
            "published": published_choice(w.task),
            "candidates": candidates(w.task),
        },
        versions=versions("numpy"),
    script:
        "../scripts/select_network.py"


rule sample_task:
    input:
        network=f"{SBIBM}/{{task}}/n_train~{{n_train}}/network.safetensors",
        observations=f"{SBIBM}/{{task}}/observations.nc",
    output:
        plain=f"{SBIBM}/{{task}}/n_train~{{n_train}}/samples/{{algorithm}}/sets~{{scatteritem}}.nc",
        clipped=f"{SBIBM}/{{task}}/n_train~{{n_train}}/samples/{{algorithm}}-clip/sets~{{scatteritem}}.nc",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/samples/{{algorithm}}/sets~{{scatteritem}}.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/n_train~{{n_train}}/samples/{{algorithm}}/sets~{{scatteritem}}.tsv"
    wildcard_constraints:
        algorithm=one_of(SBIBM_METHODS),
    resources:
        **cost(
            "sample_task/{algorithm}/{task}",
            lambda w: 2 * sampling_rows(w.algorithm, w.task) / SET_BATCHES,
            gpu=True,
        ),
    params:
        code=lambda w: code("sample_task", module_of(w.algorithm), task_module(w.task)),
        config=lambda w: sbibm_sampling(w.algorithm, w.task),
        n_obs=CFG["sbibm"]["n_obs"],
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_task.py"


rule measure_task:
    input:
        references=expand(f"{SBIBM}/{{{{task}}}}/references/n~{{n}}.nc", n=CFG["sbibm"]["n_obs"]),
        samples=[path for method in SBIBM_RUNS for path in samples_of("{{task}}", "{{n_train}}", method)],
    output:
        f"{SBIBM}/{{task}}/n_train~{{n_train}}/distances.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/distances.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/n_train~{{n_train}}/distances.tsv"
    resources:
        **cost("measure_task/{task}", len(SBIBM_RUNS) * comparisons()),
    params:
        code=code("measure_task"),
        config=pick("seed", "metrics.projections", "metrics.c2st_backend"),
        n_obs=CFG["sbibm"]["n_obs"],
        methods=SBIBM_RUNS,
        versions=versions("numpy", "POT", "torch"),
    script:
        "../scripts/measure_task.py"


SBIBM_CELLS = [(task, n_train) for task in TASKS for n_train in N_TRAIN]
LOSS_CURVES = [
    {"task": task, "n_train": n_train, **candidate}
    for task in MAIN_TASKS
    for n_train in N_TRAIN
    for candidate in candidates(task)
]
# The numbers of observations of tables and pair plots that this run has; at small scales all of them.
SHOWN_N_OBS = [n for n in CFG["sbibm"]["table_n_obs"] if n in CFG["sbibm"]["n_obs"]]
SHOWN_N_OBS = SHOWN_N_OBS if len(SHOWN_N_OBS) > 1 else CFG["sbibm"]["n_obs"]


rule collect_sbibm:
    input:
        [f"{SBIBM}/{task}/n_train~{n_train}/distances.csv" for task, n_train in SBIBM_CELLS],
    output:
        f"{SBIBM}/distances.csv",
    log:
        f"{LOGS}/sbibm/distances.log",
    params:
        code=code("collect"),
        config={},
        versions=versions("pandas"),
    script:
        "../scripts/collect.py"


rule collect_losses:
    input:
        curves=[candidate_path(key["task"], key["n_train"], key, "losses.csv") for key in LOSS_CURVES],
        choices=[f"{SBIBM}/{task}/n_train~{n}/choice.json" for task in MAIN_TASKS for n in N_TRAIN],
    output:
        f"{SBIBM}/losses.csv",
    log:
        f"{LOGS}/sbibm/losses.log",
    params:
        code=code("collect_losses"),
        config={},
        settings=LOSS_CURVES,
        cells=[(task, n_train) for task in MAIN_TASKS for n_train in N_TRAIN],
        versions=versions("pandas"),
    script:
        "../scripts/collect_losses.py"


rule collect_pairs:
    input:
        observations=[f"{SBIBM}/{task}/observations.nc" for task in MAIN_TASKS],
        references=[f"{SBIBM}/{task}/references/n~{n}.nc" for task in MAIN_TASKS for n in SHOWN_N_OBS],
        # The first part has the first parameter set, the one that is shown.
        samples=[samples_of(task, max(N_TRAIN), "GAUSS")[0] for task in MAIN_TASKS],
    output:
        pairs=f"{SBIBM}/pairs.csv",
        truth=f"{SBIBM}/truth.csv",
    log:
        f"{LOGS}/sbibm/pairs.log",
    params:
        code=code("collect_pairs"),
        config={"tasks": MAIN_TASKS, "n_obs": SHOWN_N_OBS},
        versions=versions("pandas"),
    script:
        "../scripts/collect_pairs.py"


rule collect_certificates:
    input:
        [f"{SBIBM}/{task}/references/n~{n}.nc" for task in TASKS for n in CFG["sbibm"]["n_obs"]],
    output:
        f"{SBIBM}/certificates.csv",
    log:
        f"{LOGS}/sbibm/certificates.log",
    params:
        code=code("collect_certificates"),
        config={},
        cells=[(task, n) for task in TASKS for n in CFG["sbibm"]["n_obs"]],
        versions=versions("pandas"),
    script:
        "../scripts/collect_certificates.py"
