"""Reference posteriors, with their certificates."""


def references_of(problem, n_obs):
    return expand(f"{SBIBM}/{problem}/references/n~{{n}}.nc", n=n_obs)


rule reference:
    input:
        f"{SBIBM}/{{problem}}/observations.nc",
    output:
        references_of("{{problem}}", STUDY.sbibm.n_obs),
    log:
        f"{LOGS}/sbibm/{{problem}}/references.log",
    benchmark:
        f"{RECORDS}/sbibm/{{problem}}/references.tsv"
    resources:
        **cost("reference/{problem}", work.reference(STUDY.sbibm)),
    params:
        code=lambda w: code("reference", task_module(w.problem)),
        config=lambda w: STUDY.sbibm.reference(w.problem).as_params(),
        versions=versions("arviz", "jax", "numpy", "numpyro"),
    script:
        "../scripts/reference.py"


rule reference_toy:
    output:
        f"{TOY}/{{toy}}/m~{{m}}/reference.nc",
    log:
        f"{LOGS}/toy/{{toy}}/m~{{m}}/reference.log",
    benchmark:
        f"{RECORDS}/toy/{{toy}}/m~{{m}}/reference.tsv"
    resources:
        **cost("reference_toy/{toy}", work.reference_toy(STUDY.toy)),
    params:
        code=code("reference_toy"),
        config=lambda w: STUDY.toy.reference(w.toy, int(w.m)).as_params(),
        versions=versions("arviz", "numpy", "torch"),
    script:
        "../scripts/reference_toy.py"


# What is published for use elsewhere: one file per task, with the observations.
rule reference_published:
    output:
        f"{RESULTS}/posteriors/{{problem}}.nc",
    log:
        f"{LOGS}/posteriors/{{problem}}.log",
    benchmark:
        f"{RECORDS}/posteriors/{{problem}}.tsv"
    resources:
        **cost("reference/{problem}", work.reference_published(STUDY.sbibm)),
    params:
        code=lambda w: code("reference_published", task_module(w.problem)),
        config=lambda w: STUDY.sbibm.observe_many(w.problem, "posteriors").as_params(),
        versions=versions("arviz", "jax", "numba", "numpy", "numpyro", "torch"),
    script:
        "../scripts/reference_published.py"


# The figure of many observations has observations and references of its own.
rule observe_many:
    output:
        observations=f"{SBIBM}/{{problem}}/many/observations.nc",
        references=f"{SBIBM}/{{problem}}/many/references.nc",
    log:
        f"{LOGS}/sbibm/{{problem}}/many/observations.log",
    benchmark:
        f"{RECORDS}/sbibm/{{problem}}/many/observations.tsv"
    resources:
        **cost(
            "observe_many/{problem}", CONFIG["sbibm"]["many"]["sets"] * sum(CONFIG["sbibm"]["many"]["n_obs"])
        ),
    params:
        code=lambda w: code("observe_many", task_module(w.problem)),
        config=lambda w: STUDY.sbibm.observe_many(w.problem).as_params(),
        versions=versions("arviz", "jax", "numba", "numpy", "numpyro", "torch"),
    script:
        "../scripts/observe_many.py"


# So has the figure of refinements.
use rule observe_many as observe_refined with:
    output:
        observations=f"{SBIBM}/{{problem}}/refined/observations.nc",
        references=f"{SBIBM}/{{problem}}/refined/references.nc",
    log:
        f"{LOGS}/sbibm/{{problem}}/refined/observations.log",
    benchmark:
        f"{RECORDS}/sbibm/{{problem}}/refined/observations.tsv"
    resources:
        **cost(
            "observe_many/{problem}",
            CONFIG["sbibm"]["refined"]["sets"] * sum(CONFIG["sbibm"]["refined"]["n_obs"]),
        ),
    params:
        code=lambda w: code("observe_many", task_module(w.problem)),
        config=lambda w: STUDY.sbibm.observe_many(w.problem, "refined").as_params(),
        versions=versions("arviz", "jax", "numba", "numpy", "numpyro", "torch"),
