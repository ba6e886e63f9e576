"""Draws of tall posteriors: with trained networks, and with the exact scores of the toys."""

SAMPLES_FOLDER = "{part}/{problem}/n_train~{n_train}/{variant}/{algorithm}"
TOY_SAMPLES_FOLDER = "toy/{toy}/m~{m}/noise~{noise}/T~{steps}"


def sample_settings(wildcards):
    w = wildcards
    return part_of(w).sample(w.problem, int(w.n_train), w.variant, w.algorithm, w.scatteritem)


def sample_work(wildcards):
    return work.sample_of(part_of(wildcards), sample_settings(wildcards))


def sample_key(wildcards):
    if wildcards.variant in ("guidance", "single"):
        return "sample_{variant}/{problem}"
    if wildcards.variant == "calibration":
        return "sample_calibration/{algorithm}/{problem}"
    return "sample/{algorithm}/{problem}"


def jobs_with(*forms):
    """A constraint on {part}, the first wildcard of SAMPLES_FOLDER: the folder must belong to a job with these outputs.

    A constraint can only be on one wildcard, so it looks ahead at the others.
    """
    folders = [folder for part in STUDY.trained.values() for folder in part.folders(*forms)]
    ahead = rf"(?=(?:{one_of(folders)})(?:-clip)?/batch~)" if folders else "(?!)"
    return f"{ahead}(?:{one_of(STUDY.trained)})"


def toy_settings(wildcards):
    sizes = int(wildcards.m), float(wildcards.noise), int(wildcards.steps)
    return STUDY.toy.sample(wildcards.toy, *sizes, wildcards.method)


def toy_key(wildcards):
    equal_time = STUDY.toy.is_equal_time(wildcards.method, int(wildcards.steps))
    return "sample_toy/{method}" if equal_time else "sample_toy_steps/{method}"


def samples_of(part, problem, n_train, variant, method):
    """The samples of a method, all batches."""
    batches = gather.sets if part == "sbibm" else gather.pairs if variant == "calibration" else gather.numbers
    return batches(
        f"{RESULTS}/{part}/{problem}/n_train~{n_train}/{variant}/{method}/batch~{{scatteritem}}.nc"
    )


def toy_samples(toy, m, noise, steps, method):
    return f"{TOY}/{toy}/m~{m}/noise~{noise:g}/T~{steps}/{method}.nc"


def network_of(wildcards):
    """The network that samples; guidance has one of its own."""
    folder = "guidance/" if wildcards.variant == "guidance" else ""
    return f"{RESULTS}/{wildcards.part}/{wildcards.problem}/n_train~{wildcards.n_train}/{folder}network.safetensors"


def observations_of(wildcards):
    name = "calibration" if wildcards.variant == "calibration" else "observations"
    return f"{RESULTS}/{wildcards.part}/{wildcards.problem}/{name}.nc"


# One algorithm on a batch of the datasets, for all n: the paper's samples, samples with other bounds of uniform priors,
# and one draw for every calibration pair. Plain and clipped draws come from one job if both are needed.
rule sample:
    input:
        network=network_of,
        observations=observations_of,
    output:
        plain=f"{RESULTS}/{SAMPLES_FOLDER}/batch~{{scatteritem}}.nc",
        clipped=f"{RESULTS}/{SAMPLES_FOLDER}-clip/batch~{{scatteritem}}.nc",
    log:
        f"{LOGS}/{SAMPLES_FOLDER}/batch~{{scatteritem}}.log",
    benchmark:
        f"{RECORDS}/{SAMPLES_FOLDER}/batch~{{scatteritem}}.tsv"
    wildcard_constraints:
        part=jobs_with("plain", "clipped"),
    resources:
        **cost(sample_key, sample_work, gpu=True),
    params:
        code=lambda w: code("sample", module_of(w.algorithm), task_module(w.problem)),
        config=lambda w: sample_settings(w).as_params(),
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample.py"


# Only plain draws; so too with the prior that a network has learned (guidance), and for each observation alone.
use rule sample as sample_plain with:
    output:
        plain=f"{RESULTS}/{SAMPLES_FOLDER}/batch~{{scatteritem}}.nc",
    wildcard_constraints:
        part=jobs_with("plain"),


use rule sample as sample_clipped with:
    output:
        clipped=f"{RESULTS}/{SAMPLES_FOLDER}-clip/batch~{{scatteritem}}.nc",
    wildcard_constraints:
        part=jobs_with("clipped"),


rule sample_partial:
    input:
        network=f"{RESULTS}/{GROUPS_FOLDER}/network.safetensors",
        observations=f"{SBIBM}/{{problem}}/observations.nc",
    output:
        [f"{RESULTS}/{GROUPS_FOLDER}/{method}.nc" for method in STUDY.sbibm.group_methods],
    log:
        f"{LOGS}/{GROUPS_FOLDER}/samples.log",
    benchmark:
        f"{RECORDS}/{GROUPS_FOLDER}/samples.tsv"
    resources:
        **cost(
            "sample_partial/{encoder}/{problem}",
            lambda w: work.sample_groups(
                STUDY.sbibm, STUDY.sbibm.sample_groups(w.problem, int(w.n_train)), int(w.n_max)
            ),
            gpu=True,
        ),
    params:
        code=lambda w: code(
            "sample_partial", *map(module_of, STUDY.sbibm.group_methods), task_module(w.problem)
        ),
        config=lambda w: STUDY.sbibm.sample_groups(w.problem, int(w.n_train)).as_params(),
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_partial.py"


rule sample_toy:
    output:
        f"{RESULTS}/{TOY_SAMPLES_FOLDER}/{{method}}.nc",
    log:
        f"{LOGS}/{TOY_SAMPLES_FOLDER}/{{method}}.log",
    benchmark:
        f"{RECORDS}/{TOY_SAMPLES_FOLDER}/{{method}}.tsv"
    wildcard_constraints:
        method=one_of(STUDY.toy.methods) + "(-clip)?",
    resources:
        **cost(toy_key, lambda w: work.sample_toy(toy_settings(w)), gpu=True),
    params:
        code=lambda w: code("sample_toy", module_of(w.method)),
        config=lambda w: toy_settings(w).as_params(),
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_toy.py"


rule illustrate_pedagogical:
    output:
        f"{TOY}/pedagogical.csv",
    log:
        f"{LOGS}/toy/pedagogical.log",
    benchmark:
        f"{RECORDS}/toy/pedagogical.tsv"
    resources:
        **cost("illustrate_pedagogical"),
    params:
        code=code("illustrate_pedagogical", module_of("GAUSS")),
        config=STUDY.toy.pedagogical().as_params(),
        versions=versions("numpy", "torch"),
    script:
        "../scripts/illustrate_pedagogical.py"
