"""The toy study (section 4.1): references, samples, distances, times, and their collections."""

TOY = f"{RESULTS}/toy"
TOY_METHODS = methods_of("toy")
TOY_GAUSSIAN = f"gaussian-{CFG['fidelity']['toy_prior']}"
TOY_DIMS = {
    "gaussian-wide": CFG["toy"]["dims"],
    "gaussian-standard": CFG["toy"]["dims"],
    "mixture": [CFG["toy"]["mixture"]["dim"]],
}
TOY_MODEL = ["seed", "toy.seeds", "toy.correlation", "toy.wide_prior", "toy.mixture"]
TOY_SAMPLING = [*TOY_MODEL, "toy.samples", "device", "dtype", "clip", "ddim"]


wildcard_constraints:
    problem=one_of(TOY_DIMS),
    m=r"\d+",
    noise=r"[0-9.e-]+",
    steps=r"\d+",
    method=one_of(CFG["methods"]) + "(-clip)?",


def toy_sampling(method, **changes):
    """Settings of a toy sampling job. No toy prior is uniform, so there is nothing to switch over."""
    return {
        **pick(*TOY_SAMPLING),
        "switch_over": 0.0,
        "method": {**TOY_METHODS[base_name(method)], **changes},
    }


def toy_cell(problem):
    """The cell of the time-accuracy table of a problem."""
    return (
        {**CFG["toy"]["table"], "dim": TOY_DIMS[problem][0]} if problem == "mixture" else CFG["toy"]["table"]
    )


def toy_samples(problem, m, noise, method):
    return f"{TOY}/{problem}/m~{m}/noise~{noise:g}/samples/{method}.nc"


def toy_samples_by_steps(problem):
    """Samples of the table's cell for every T; the equal-time T of a method is in the grid already."""
    cell = toy_cell(problem)
    return [
        (
            toy_samples(problem, cell["dim"], cell["noise"], method)
            if steps == TOY_METHODS[method]["steps"]
            else f"{TOY}/{problem}/steps/T~{steps}/{method}.nc"
        )
        for steps in CFG["toy"]["steps"]
        for method in TOY_METHODS
    ]


def toy_chain():
    """Thousands of steps of the chains behind a reference of the mixture."""
    mala = CFG["toy"]["mala"]
    return mala["chains"] * (mala["warmup"] + mala["draws"]) / 1000


def toy_rows(m, n_obs, method, samples=CFG["toy"]["samples"]):
    """Work of a toy sampling run: evaluations of the score, which costs about m each; little beside a step's rest."""
    return int(m) * sum(network_rows(method, samples, n, step=2000) for n in n_obs)


def toy_step_rows(wildcards):
    cell = toy_cell(wildcards.problem)
    method = {**TOY_METHODS[wildcards.method], "steps": int(wildcards.steps)}
    return CFG["toy"]["seeds"] * toy_rows(cell["dim"], [cell["n_obs"]], method)


def timing_rows(wildcards):
    timing = CFG["toy"]["timing"]
    return timing["repeats"] * sum(
        toy_rows(wildcards.m, timing["n_obs"], {**method, "steps": steps}, timing["samples"])
        for method in TOY_METHODS.values()
        for steps in timing["steps"]
    )


TOY_DISTANCES_DONE = len(TOY_METHODS) * CFG["toy"]["seeds"] * CFG["toy"]["samples"] / 100


rule reference_toy:
    output:
        f"{TOY}/{{problem}}/m~{{m}}/reference.nc",
    log:
        f"{LOGS}/toy/{{problem}}/m~{{m}}/reference.log",
    benchmark:
        f"{RECORDS}/toy/{{problem}}/m~{{m}}/reference.tsv"
    resources:
        **cost("reference_toy/{problem}", CFG["toy"]["seeds"] * sum(CFG["toy"]["n_obs"]) * toy_chain()),
    params:
        code=code("reference_toy"),
        config=pick(*TOY_MODEL, "toy.samples", "toy.n_obs", "toy.mala"),
        versions=versions("arviz", "numpy", "torch"),
    script:
        "../scripts/reference_toy.py"


rule sample_toy:
    output:
        f"{TOY}/{{problem}}/m~{{m}}/noise~{{noise}}/samples/{{method}}.nc",
    log:
        f"{LOGS}/toy/{{problem}}/m~{{m}}/noise~{{noise}}/samples/{{method}}.log",
    benchmark:
        f"{RECORDS}/toy/{{problem}}/m~{{m}}/noise~{{noise}}/samples/{{method}}.tsv"
    resources:
        **cost(
            "sample_toy/{method}",
            lambda w: CFG["toy"]["seeds"] * toy_rows(w.m, CFG["toy"]["n_obs"], TOY_METHODS[w.method]),
            gpu=True,
        ),
    params:
        code=lambda w: code("sample_toy", module_of(w.method)),
        config=lambda w: toy_sampling(w.method),
        n_obs=CFG["toy"]["n_obs"],
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_toy.py"


rule sample_toy_steps:
    output:
        f"{TOY}/{{problem}}/steps/T~{{steps}}/{{method}}.nc",
    log:
        f"{LOGS}/toy/{{problem}}/steps/T~{{steps}}/{{method}}.log",
    benchmark:
        f"{RECORDS}/toy/{{problem}}/steps/T~{{steps}}/{{method}}.tsv"
    resources:
        **cost("sample_toy_steps/{method}", toy_step_rows, gpu=True),
    params:
        code=lambda w: code("sample_toy", module_of(w.method)),
        config=lambda w: toy_sampling(w.method, steps=int(w.steps)),
        n_obs=[CFG["toy"]["table"]["n_obs"]],
        cell=lambda w: toy_cell(w.problem),
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_toy.py"


rule measure_toy:
    input:
        reference=f"{TOY}/{{problem}}/m~{{m}}/reference.nc",
        samples=expand(
            f"{TOY}/{{{{problem}}}}/m~{{{{m}}}}/noise~{{{{noise}}}}/samples/{{method}}.nc",
            method=TOY_METHODS,
        ),
    output:
        f"{TOY}/{{problem}}/m~{{m}}/noise~{{noise}}/distances.csv",
    log:
        f"{LOGS}/toy/{{problem}}/m~{{m}}/noise~{{noise}}/distances.log",
    benchmark:
        f"{RECORDS}/toy/{{problem}}/m~{{m}}/noise~{{noise}}/distances.tsv"
    resources:
        **cost("measure_toy", len(CFG["toy"]["n_obs"]) * TOY_DISTANCES_DONE),
    params:
        code=code("measure_toy"),
        config=pick("seed", "metrics", "toy.samples"),
        n_obs=CFG["toy"]["n_obs"],
        versions=versions("numpy", "POT"),
    script:
        "../scripts/measure_toy.py"


rule measure_toy_steps:
    input:
        reference=lambda w: f"{TOY}/{w.problem}/m~{toy_cell(w.problem)['dim']}/reference.nc",
        samples=lambda w: toy_samples_by_steps(w.problem),
    output:
        f"{TOY}/{{problem}}/steps/distances.csv",
    log:
        f"{LOGS}/toy/{{problem}}/steps/distances.log",
    benchmark:
        f"{RECORDS}/toy/{{problem}}/steps/distances.tsv"
    resources:
        **cost("measure_toy_steps", len(CFG["toy"]["steps"]) * TOY_DISTANCES_DONE),
    params:
        code=code("measure_toy"),
        config=pick("seed", "metrics", "toy.samples"),
        n_obs=[CFG["toy"]["table"]["n_obs"]],
        versions=versions("numpy", "POT"),
    script:
        "../scripts/measure_toy.py"


rule time_toy:
    output:
        f"{TOY}/timing/{{problem}}/m~{{m}}.csv",
    log:
        f"{LOGS}/toy/timing/{{problem}}/m~{{m}}.log",
    benchmark:
        f"{RECORDS}/toy/timing/{{problem}}/m~{{m}}.tsv"
    threads: ALONE
    resources:
        **cost("time_toy/{problem}", timing_rows, gpu=True),
    params:
        code=code("time_toy", *(module_of(method) for method in TOY_METHODS)),
        config={
            **pick(*TOY_MODEL, "device", "dtype", "clip", "ddim", "toy.timing", "toy.table"),
            "switch_over": 0.0,
            "methods": TOY_METHODS,
        },
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/time_toy.py"


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
        config={
            **pick("seed", "clip", "ddim", "toy.correlation", "toy.pedagogical"),
            "switch_over": 0.0,
            "method": TOY_METHODS["GAUSS"],
        },
        versions=versions("numpy", "torch"),
    script:
        "../scripts/illustrate_pedagogical.py"


def toy_distances():
    return [
        f"{TOY}/{problem}/m~{m}/noise~{noise:g}/distances.csv"
        for problem, dims in TOY_DIMS.items()
        for m in dims
        for noise in CFG["toy"]["noise"]
    ]


def toy_times():
    timing = CFG["toy"]["timing"]
    # The table's cell of the mixture is timed as well.
    return [f"{TOY}/timing/{TOY_GAUSSIAN}/m~{m}.csv" for m in timing["dims"]] + [
        f"{TOY}/timing/mixture/m~{toy_cell('mixture')['dim']}.csv"
    ]


TOY_COLLECTIONS = {
    "distances": toy_distances(),
    "steps": [f"{TOY}/{problem}/steps/distances.csv" for problem in (TOY_GAUSSIAN, "mixture")],
    "timing": toy_times(),
}


rule collect_toy:
    input:
        lambda w: TOY_COLLECTIONS[w.collection],
    output:
        f"{TOY}/{{collection}}.csv",
    log:
        f"{LOGS}/toy/{{collection}}.log",
    wildcard_constraints:
        collection=one_of(TOY_COLLECTIONS),
    params:
        code=code("collect"),
        config={},
        versions=versions("pandas"),
    script:
        "../scripts/collect.py"
