"""Distances to the references, tests of calibration, and times."""

VARIANT_FOLDER = "sbibm/{problem}/n_train~{n_train}/{variant}"
TOY_CELL_FOLDER = "toy/{toy}/{cell}"
LC2ST_PATH = "jrnmm/{problem}/n_train~{n_train}/lc2st/{algorithm}/n~{n}"


def measure_settings(wildcards):
    return STUDY.sbibm.measure(wildcards.problem, int(wildcards.n_train), wildcards.variant)


def variant_samples(wildcards):
    """The samples of a variant, method by method."""
    folder = wildcards.problem, wildcards.n_train
    if wildcards.variant == "partial":
        runs = STUDY.sbibm.group_runs
        return [f"{SBIBM}/{folder[0]}/n_train~{folder[1]}/partial/{net}/{method}.nc" for net, method in runs]
    runs = measure_settings(wildcards).runs
    return [path for run in runs for path in samples_of("sbibm", *folder, wildcards.variant, run)]


def measure_key(wildcards):
    plain = wildcards.variant in ("samples", "other_bounds")
    return "measure/{problem}" if plain else "measure_{variant}/{problem}"


# The paper's samples, those with other bounds, and those of guidance and partial factorisation.
rule measure:
    input:
        references=lambda w: references_of(w.problem, measure_settings(w).n_obs),
        samples=variant_samples,
    output:
        f"{RESULTS}/{VARIANT_FOLDER}/distances.csv",
    log:
        f"{LOGS}/{VARIANT_FOLDER}/distances.log",
    benchmark:
        f"{RECORDS}/{VARIANT_FOLDER}/distances.tsv"
    wildcard_constraints:
        variant="samples|other_bounds|guidance|partial",
    resources:
        **cost(measure_key, lambda w: work.measure(STUDY.sbibm, w.problem, int(w.n_train), w.variant)),
    params:
        code=code("measure"),
        config=lambda w: measure_settings(w).as_params(),
        versions=versions("numpy", "POT", "torch"),
    script:
        "../scripts/measure.py"


def toy_cell_samples(wildcards):
    """The samples of a cell at each method's own T, or those of the table's cell for all T (steps)."""
    toy, methods = wildcards.toy, STUDY.toy.methods
    if wildcards.cell == "steps":
        cell = STUDY.toy.table_dim(toy), CONFIG["toy"]["table"]["noise"]
        return [
            toy_samples(toy, *cell, steps, method) for steps in CONFIG["toy"]["steps"] for method in methods
        ]
    m, noise = re.fullmatch(r"m~(\d+)/noise~(.*)", wildcards.cell).groups()
    return [
        toy_samples(toy, m, float(noise), options["steps"], method) for method, options in methods.items()
    ]


def toy_cell_reference(wildcards):
    m = (
        f"m~{STUDY.toy.table_dim(wildcards.toy)}"
        if wildcards.cell == "steps"
        else wildcards.cell.split("/")[0]
    )
    return f"{TOY}/{wildcards.toy}/{m}/reference.nc"


rule measure_toy:
    input:
        reference=toy_cell_reference,
        samples=toy_cell_samples,
    output:
        f"{RESULTS}/{TOY_CELL_FOLDER}/distances.csv",
    log:
        f"{LOGS}/{TOY_CELL_FOLDER}/distances.log",
    benchmark:
        f"{RECORDS}/{TOY_CELL_FOLDER}/distances.tsv"
    wildcard_constraints:
        cell=r"m~\d+/noise~[0-9.e-]+|steps",
    resources:
        **cost(
            lambda w: "measure_toy_steps" if w.cell == "steps" else "measure_toy",
            lambda w: work.measure_toy(STUDY.toy, w.cell == "steps"),
        ),
    params:
        code=code("measure_toy"),
        config=lambda w: STUDY.toy.measure(w.cell == "steps").as_params(),
        versions=versions("numpy", "POT"),
    script:
        "../scripts/measure_toy.py"


def plain_and_clipped(wildcards, variant):
    """The samples of an algorithm for the Jansen-Rit model, plain and clipped."""
    w = wildcards
    return [
        path
        for method in (w.algorithm, f"{w.algorithm}-clip")
        for path in samples_of("jrnmm", w.problem, w.n_train, variant, method)
    ]


rule test_calibration:
    input:
        network=f"{JRNMM}/{{problem}}/n_train~{{n_train}}/network.safetensors",
        observations=f"{JRNMM}/{{problem}}/observations.nc",
        calibration=f"{JRNMM}/{{problem}}/calibration.nc",
        drawn=lambda w: plain_and_clipped(w, "calibration"),
        samples=lambda w: plain_and_clipped(w, "samples"),
    output:
        f"{RESULTS}/{LC2ST_PATH}.csv",
    log:
        f"{LOGS}/{LC2ST_PATH}.log",
    benchmark:
        f"{RECORDS}/{LC2ST_PATH}.tsv"
    wildcard_constraints:
        n=r"\d+",
    resources:
        **cost("test_calibration/{algorithm}", work.test_calibration(STUDY.jrnmm)),
    params:
        code=code("test_calibration"),
        config=lambda w: STUDY.jrnmm.test_calibration(int(w.n)).as_params(),
        versions=versions("numpy", "sbi", "scikit-learn", "torch"),
    script:
        "../scripts/test_calibration.py"


rule measure_dirac:
    input:
        [
            path
            for problem in STUDY.jrnmm.problems
            for run in STUDY.jrnmm.runs
            for path in samples_of("jrnmm", problem, *STUDY.jrnmm.n_train, "samples", run)
        ],
    output:
        f"{JRNMM}/dirac.csv",
    log:
        f"{LOGS}/jrnmm/dirac.log",
    params:
        code=code("measure_dirac"),
        config=STUDY.jrnmm.dirac().as_params(),
        versions=versions("numpy", "pandas"),
    script:
        "../scripts/measure_dirac.py"


rule time_toy:
    output:
        f"{TOY}/timing/{{toy}}/m~{{m}}.csv",
    log:
        f"{LOGS}/toy/timing/{{toy}}/m~{{m}}.log",
    benchmark:
        f"{RECORDS}/toy/timing/{{toy}}/m~{{m}}.tsv"
    threads: TIMING_THREADS
    resources:
        **cost("time_toy/{toy}", lambda w: work.time_toy(STUDY.toy.time(w.toy, int(w.m))), gpu=True),
    params:
        code=code("time_toy", *map(module_of, STUDY.toy.methods)),
        config=lambda w: STUDY.toy.time(w.toy, int(w.m)).as_params(),
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/time_toy.py"


# Offsets and coverage against the number of observations (beyond the paper).
rule measure_calibration:
    input:
        network=f"{SBIBM}/{{problem}}/n_train~{STUDY.sbibm.most_simulations}/network.safetensors",
    output:
        f"{SBIBM}/{{problem}}/calibration/{{algorithm}}.csv",
    log:
        f"{LOGS}/sbibm/{{problem}}/calibration/{{algorithm}}.log",
    benchmark:
        f"{RECORDS}/sbibm/{{problem}}/calibration/{{algorithm}}.tsv"
    resources:
        **cost(
            "measure_calibration/{algorithm}",
            lambda w: work.measure_calibration(STUDY.sbibm.calibration(w.problem, w.algorithm)),
            gpu=True,
        ),
    params:
        code=lambda w: code("measure_calibration", module_of(w.algorithm), task_module(w.problem)),
        config=lambda w: STUDY.sbibm.calibration(w.problem, w.algorithm).as_params(),
        versions=versions("numpy", "torch"),
    script:
        "../scripts/measure_calibration.py"


# Posteriors before and after further simulations near them (beyond the paper).
rule measure_refined:
    input:
        network=f"{SBIBM}/{{problem}}/n_train~{STUDY.sbibm.most_simulations}/network.safetensors",
        observations=f"{SBIBM}/{{problem}}/refined/observations.nc",
        references=f"{SBIBM}/{{problem}}/refined/references.nc",
    output:
        f"{SBIBM}/{{problem}}/refined.csv",
    log:
        f"{LOGS}/sbibm/{{problem}}/refined/samples.log",
    benchmark:
        f"{RECORDS}/sbibm/{{problem}}/refined/samples.tsv"
    resources:
        **cost("measure_refined/{problem}", lambda w: work.measure_refined(STUDY.sbibm.refine(w.problem))),
    params:
        code=lambda w: code(
            "measure_refined",
            *map(module_of, STUDY.sbibm.refine(w.problem).methods.options),
            task_module(w.problem),
        ),
        config=lambda w: STUDY.sbibm.refine(w.problem).as_params(),
        versions=versions("numba", "numpy", "POT", "torch"),
    script:
        "../scripts/measure_refined.py"


# Accuracy against the number of time steps and against time (beyond the paper).
rule time_steps:
    input:
        network=f"{SBIBM}/{{problem}}/n_train~{STUDY.sbibm.most_simulations}/network.safetensors",
        observations=f"{SBIBM}/{{problem}}/observations.nc",
        references=references_of("{{problem}}", STUDY.sbibm.steps_n_obs),
    output:
        f"{SBIBM}/{{problem}}/steps.csv",
    log:
        f"{LOGS}/sbibm/{{problem}}/steps.log",
    benchmark:
        f"{RECORDS}/sbibm/{{problem}}/steps.tsv"
    threads: TIMING_THREADS
    resources:
        **cost("time_steps/{problem}", lambda w: work.time_steps(STUDY.sbibm.time_steps(w.problem)), gpu=True),
    params:
        code=lambda w: code(
            "time_network",
            *map(module_of, STUDY.sbibm.time_steps(w.problem).methods.options),
            task_module(w.problem),
        ),
        config=lambda w: STUDY.sbibm.time_steps(w.problem).as_params(),
        versions=versions("numpy", "POT", "torch"),
    script:
        "../scripts/time_network.py"


# Error, time and memory as the number of observations grows (beyond the paper).
use rule time_steps as time_many with:
    input:
        network=f"{SBIBM}/{{problem}}/n_train~{STUDY.sbibm.most_simulations}/network.safetensors",
        observations=f"{SBIBM}/{{problem}}/many/observations.nc",
        references=f"{SBIBM}/{{problem}}/many/references.nc",
    output:
        f"{SBIBM}/{{problem}}/many.csv",
    log:
        f"{LOGS}/sbibm/{{problem}}/many/samples.log",
    benchmark:
        f"{RECORDS}/sbibm/{{problem}}/many/samples.tsv"
    resources:
        **cost("time_many/{problem}", lambda w: work.time_many(STUDY.sbibm.time_many(w.problem)), gpu=True),
    params:
        code=lambda w: code(
            "time_network",
            *map(module_of, STUDY.sbibm.time_many(w.problem).methods.options),
            task_module(w.problem),
        ),
        config=lambda w: STUDY.sbibm.time_many(w.problem).as_params(),
        versions=versions("numpy", "POT", "torch"),
