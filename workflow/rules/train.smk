"""Networks: all candidates are trained and one is selected; guidance and partial factorisation have their own."""

from tallsbi.study.settings.select import Candidate

CANDIDATE_FOLDER = "{part}/{problem}/training/n_train~{n_train}/bs~{batch_size}-lr~{learning_rate}"
CHOSEN_FOLDER = "{part}/{problem}/n_train~{n_train}"
GUIDANCE_FOLDER = "sbibm/{problem}/n_train~{n_train}/guidance"
GROUPS_FOLDER = "sbibm/{problem}/n_train~{n_train}/partial/n_max~{n_max}-{encoder}"


def train_settings(wildcards):
    candidate = Candidate(float(wildcards.learning_rate), int(wildcards.batch_size))
    return part_of(wildcards).train(wildcards.problem, int(wildcards.n_train), candidate)


def guidance_settings(wildcards):
    return STUDY.sbibm.train_guidance(wildcards.problem, int(wildcards.n_train))


def groups_settings(wildcards):
    sizes = int(wildcards.n_train), wildcards.encoder, int(wildcards.n_max)
    return STUDY.sbibm.train_groups(wildcards.problem, *sizes)


def candidates_of(part, problem, n_train, name):
    """The file of this name of every candidate."""
    return [
        f"{RESULTS}/{part}/{problem}/training/n_train~{n_train}/{candidate.folder}/{name}"
        for candidate in STUDY.trained[part].candidates(problem)
    ]


rule train:
    input:
        f"{RESULTS}/{{part}}/{{problem}}/simulations.nc",
    output:
        network=f"{RESULTS}/{CANDIDATE_FOLDER}/network.safetensors",
        losses=f"{RESULTS}/{CANDIDATE_FOLDER}/losses.csv",
    log:
        f"{LOGS}/{CANDIDATE_FOLDER}.log",
    benchmark:
        f"{RECORDS}/{CANDIDATE_FOLDER}.tsv"
    resources:
        **cost("train/{part}", lambda w: work.train(train_settings(w)), gpu=True),
    params:
        code=lambda w: code("train", task_module(w.problem)),
        config=lambda w: train_settings(w).as_params(),
        checkpoints=f"{RESULTS}/{CANDIDATE_FOLDER}/checkpoints",
        versions=versions("numpy", "torch"),
    script:
        "../scripts/train.py"


use rule train as train_guidance with:
    input:
        f"{SBIBM}/{{problem}}/simulations.nc",
    output:
        network=f"{RESULTS}/{GUIDANCE_FOLDER}/network.safetensors",
        losses=f"{RESULTS}/{GUIDANCE_FOLDER}/losses.csv",
    log:
        f"{LOGS}/{GUIDANCE_FOLDER}/training.log",
    benchmark:
        f"{RECORDS}/{GUIDANCE_FOLDER}/training.tsv"
    resources:
        **cost("train_guidance", lambda w: work.train(guidance_settings(w)), gpu=True),
    params:
        code=lambda w: code("train", task_module(w.problem)),
        config=lambda w: guidance_settings(w).as_params(),
        checkpoints=f"{RESULTS}/{GUIDANCE_FOLDER}/checkpoints",
        versions=versions("numpy", "torch"),


rule train_partial:
    input:
        f"{SBIBM}/{{problem}}/groups.nc",
    output:
        network=f"{RESULTS}/{GROUPS_FOLDER}/network.safetensors",
        losses=f"{RESULTS}/{GROUPS_FOLDER}/losses.csv",
    log:
        f"{LOGS}/{GROUPS_FOLDER}/training.log",
    benchmark:
        f"{RECORDS}/{GROUPS_FOLDER}/training.tsv"
    resources:
        **cost("train_partial/{encoder}", lambda w: work.train_groups(groups_settings(w)), gpu=True),
    params:
        code=lambda w: code("train_partial", task_module(w.problem)),
        config=lambda w: groups_settings(w).as_params(),
        checkpoints=f"{RESULTS}/{GROUPS_FOLDER}/checkpoints",
        versions=versions("numpy", "torch"),
    script:
        "../scripts/train_partial.py"


rule select:
    input:
        networks=lambda w: candidates_of(w.part, w.problem, w.n_train, "network.safetensors"),
    output:
        network=f"{RESULTS}/{CHOSEN_FOLDER}/network.safetensors",
        choice=f"{RESULTS}/{CHOSEN_FOLDER}/choice.json",
    log:
        f"{LOGS}/{CHOSEN_FOLDER}/selection.log",
    params:
        code=code("select"),
        config=lambda w: part_of(w).select(w.problem).as_params(),
        versions=versions("numpy"),
    script:
        "../scripts/select.py"
