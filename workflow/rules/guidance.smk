"""Classifier-free guidance (appendix): networks that also learn the prior's score, for the tasks of the main text."""

CFG_CELLS = [(task, n_train) for task in MAIN_TASKS for n_train in N_TRAIN]


def guidance_training(wildcards):
    choice = published_choice(wildcards.task)
    return {
        **common_training(),
        "learning_rate": float(choice["learning_rate"]),
        "batch_size": int(choice["batch_size"]),
        "drop_context": CFG["sbibm"]["guidance"]["drop"],
    }


rule train_guidance:
    input:
        f"{SBIBM}/{{task}}/simulations.nc",
    output:
        network=f"{SBIBM}/{{task}}/n_train~{{n_train}}/guidance/network.safetensors",
        losses=f"{SBIBM}/{{task}}/n_train~{{n_train}}/guidance/losses.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/guidance/training.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/n_train~{{n_train}}/guidance/training.tsv"
    resources:
        **cost("train_guidance", lambda w: training_rows(guidance_training(w), int(w.n_train)), gpu=True),
    params:
        code=lambda w: code("train_network", task_module(w.task)),
        config=guidance_training,
        checkpoints=f"{SBIBM}/{{task}}/n_train~{{n_train}}/guidance/checkpoints",
        versions=versions("numpy", "torch"),
    script:
        "../scripts/train_network.py"


rule sample_guidance:
    input:
        network=f"{SBIBM}/{{task}}/n_train~{{n_train}}/guidance/network.safetensors",
        observations=f"{SBIBM}/{{task}}/observations.nc",
    output:
        f"{SBIBM}/{{task}}/n_train~{{n_train}}/guidance/samples/GAUSS/sets~{{scatteritem}}.nc",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/guidance/samples/GAUSS/sets~{{scatteritem}}.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/n_train~{{n_train}}/guidance/samples/GAUSS/sets~{{scatteritem}}.tsv"
    resources:
        **cost("sample_guidance/{task}", lambda w: sampling_rows("GAUSS", w.task) / SET_BATCHES, gpu=True),
    params:
        code=lambda w: code("sample_guidance", module_of("GAUSS"), task_module(w.task)),
        config=lambda w: sbibm_sampling("GAUSS", w.task),
        n_obs=CFG["sbibm"]["n_obs"],
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_guidance.py"


rule measure_guidance:
    input:
        references=expand(f"{SBIBM}/{{{{task}}}}/references/n~{{n}}.nc", n=CFG["sbibm"]["n_obs"]),
        samples=samples_of("{{task}}", "{{n_train}}", "GAUSS", "guidance/samples"),
    output:
        f"{SBIBM}/{{task}}/n_train~{{n_train}}/guidance/distances.csv",
    log:
        f"{LOGS}/sbibm/{{task}}/n_train~{{n_train}}/guidance/distances.log",
    benchmark:
        f"{RECORDS}/sbibm/{{task}}/n_train~{{n_train}}/guidance/distances.tsv"
    resources:
        **cost("measure_guidance/{task}", comparisons()),
    params:
        code=code("measure_task"),
        config=pick("seed", "metrics.projections", "metrics.c2st_backend"),
        n_obs=CFG["sbibm"]["n_obs"],
        methods=["GAUSS"],
        versions=versions("numpy", "POT", "torch"),
    script:
        "../scripts/measure_task.py"


rule collect_guidance:
    input:
        [f"{SBIBM}/{task}/n_train~{n_train}/guidance/distances.csv" for task, n_train in CFG_CELLS],
    output:
        f"{SBIBM}/guidance.csv",
    log:
        f"{LOGS}/sbibm/guidance.log",
    params:
        code=code("collect"),
        config={},
        versions=versions("pandas"),
    script:
        "../scripts/collect.py"
