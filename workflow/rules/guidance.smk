"""Classifier-free guidance (appendix): networks that also learn the prior's score, for the tasks of the main text."""

CFG_CELLS = [(task, n_train) for task in MAIN_TASKS for n_train in N_TRAIN]


def guided_training(wildcards):
    choice = published_choice(wildcards.task)
    return {
        **common_training(),
        "learning_rate": float(choice["learning_rate"]),
        "batch_size": int(choice["batch_size"]),
        "drop_context": CFG["sbibm"]["guidance"]["drop"],
    }


rule train_guided:
    input:
        f"{SBIBM}/{{task}}/simulations.nc",
    output:
        network=f"{SBIBM}/{{task}}/n_train~{{n_train}}/guided/network.safetensors",
        losses=f"{SBIBM}/{{task}}/n_train~{{n_train}}/guided/losses.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/guided/training.log",
    benchmark:
        f"{BENCHMARKS}/sbibm/{{task}}/n_train~{{n_train}}/guided/training.tsv"
    resources:
        **cost("train_guided", lambda w: training_rows(guided_training(w), int(w.n_train)), gpu=True),
    params:
        code=lambda w: code("train_network", task_module(w.task)),
        config=guided_training,
        checkpoints=f"{SBIBM}/{{task}}/n_train~{{n_train}}/guided/checkpoints",
        versions=versions("numpy", "torch"),
    script:
        "../scripts/train_network.py"


rule sample_guided:
    input:
        network=f"{SBIBM}/{{task}}/n_train~{{n_train}}/guided/network.safetensors",
        observations=f"{SBIBM}/{{task}}/observations.nc",
    output:
        f"{SBIBM}/{{task}}/n_train~{{n_train}}/guided/samples/GAUSS/sets~{{scatteritem}}.nc",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/guided/samples/GAUSS/sets~{{scatteritem}}.log",
    benchmark:
        f"{BENCHMARKS}/sbibm/{{task}}/n_train~{{n_train}}/guided/samples/GAUSS/sets~{{scatteritem}}.tsv"
    resources:
        **cost("sample_guided/{task}", lambda w: sampling_rows("GAUSS", w.task) / SET_BATCHES, gpu=True),
    params:
        code=lambda w: code("sample_guided", module_of("GAUSS"), task_module(w.task)),
        config=lambda w: sbibm_sampling("GAUSS", w.task),
        n_obs=CFG["sbibm"]["n_obs"],
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_guided.py"


rule measure_guided:
    input:
        references=expand(f"{SBIBM}/{{{{task}}}}/references/n~{{n}}.nc", n=CFG["sbibm"]["n_obs"]),
        samples=samples_of("{{task}}", "{{n_train}}", "GAUSS", "guided/samples"),
    output:
        f"{SBIBM}/{{task}}/n_train~{{n_train}}/guided/distances.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/guided/distances.log",
    benchmark:
        f"{BENCHMARKS}/sbibm/{{task}}/n_train~{{n_train}}/guided/distances.tsv"
    resources:
        **cost("measure_guided/{task}", comparisons()),
    params:
        code=code("measure_task"),
        config=pick("seed", "metrics.projections", "metrics.c2st_backend"),
        n_obs=CFG["sbibm"]["n_obs"],
        methods=["GAUSS"],
        versions=versions("numpy", "POT", "torch"),
    script:
        "../scripts/measure_task.py"


rule collect_guided:
    input:
        [f"{SBIBM}/{task}/n_train~{n_train}/guided/distances.csv" for task, n_train in CFG_CELLS],
    output:
        f"{SBIBM}/guided.csv",
    log:
        f"{LOGS}/sbibm/guided.log",
    params:
        code=code("collect"),
        config={},
        versions=versions("pandas"),
    script:
        "../scripts/collect.py"
