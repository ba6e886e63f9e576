"""Tidy tables over all problems: one CSV file each, from which the tables and figures are made."""

from tallsbi.study.settings.collect import CollectSettings


def distances_of(variant, cells):
    """The distances of a variant; `cells` are pairs of task and N_train."""
    return [f"{SBIBM}/{task}/n_train~{n_train}/{variant}/distances.csv" for task, n_train in cells]


MAIN_TASKS, PAPER_TASKS = STUDY.sbibm.main_tasks, STUDY.sbibm.paper_tasks
MAIN_CELLS = [(task, n_train) for task in MAIN_TASKS for n_train in STUDY.sbibm.n_train]
# Table -> the tables with the same columns that are stacked in it.
STACKED_TABLES = {
    "toy/distances": [
        f"{TOY}/{toy}/m~{m}/noise~{noise:g}/distances.csv"
        for toy, dims in STUDY.toy.dims.items()
        for m in dims
        for noise in CONFIG["toy"]["noise"]
    ],
    "toy/steps": [f"{TOY}/{toy}/steps/distances.csv" for toy in (STUDY.toy.gaussian, "mixture")],
    "toy/timing": [f"{TOY}/timing/{toy}/m~{m}.csv" for toy, m in STUDY.toy.timed_cells],
    "sbibm/distances": distances_of("samples", STUDY.sbibm.measured("samples")),
    "sbibm/guidance": distances_of("guidance", MAIN_CELLS),
    "sbibm/other_bounds": distances_of("other_bounds", STUDY.sbibm.measured("other_bounds")),
    "sbibm/steps": [
        f"{SBIBM}/{task}/steps.csv" for task in STUDY.sbibm.present_tasks(CONFIG["sbibm"]["steps"]["tasks"])
    ],
    "sbibm/many": [
        f"{SBIBM}/{task}/many.csv" for task in STUDY.sbibm.present_tasks(CONFIG["sbibm"]["many"]["tasks"])
    ],
    "sbibm/calibration": [
        f"{SBIBM}/{task}/calibration/{algorithm}.csv"
        for task in STUDY.sbibm.present_tasks(CONFIG["sbibm"]["horizon"]["tasks"])
        for algorithm in STUDY.sbibm.methods_of("beyond")
    ],
    "sbibm/refined": [
        f"{SBIBM}/{task}/refined.csv"
        for task in STUDY.sbibm.present_tasks(CONFIG["sbibm"]["refined"]["tasks"])
    ],
    "jrnmm/lc2st": [
        f"{JRNMM}/{problem}/n_train~{n_train}/lc2st/{method}/n~{n}.csv"
        for problem in STUDY.jrnmm.problems
        for n_train in STUDY.jrnmm.n_train
        for method in STUDY.jrnmm.methods
        for n in STUDY.jrnmm.n_obs
    ],
}


rule collect:
    input:
        tables=lambda w: STACKED_TABLES[w.table],
    output:
        f"{RESULTS}/{{table}}.csv",
    log:
        f"{LOGS}/{{table}}.log",
    wildcard_constraints:
        table=one_of(STACKED_TABLES),
    params:
        code=code("collect"),
        config=CollectSettings("stacked").as_params(),
        versions=versions("pandas"),
    script:
        "../scripts/collect.py"


use rule collect as collect_losses with:
    input:
        curves=lambda w: [
            path
            for problem in part_of(w).shown_problems
            for n_train in part_of(w).n_train
            for path in candidates_of(w.part, problem, n_train, "losses.csv")
        ],
        choices=lambda w: [
            f"{RESULTS}/{w.part}/{problem}/n_train~{n_train}/choice.json"
            for problem in part_of(w).shown_problems
            for n_train in part_of(w).n_train
        ],
    output:
        f"{RESULTS}/{{part}}/losses.csv",
    log:
        f"{LOGS}/{{part}}/losses.log",
    params:
        code=code("collect"),
        config=lambda w: part_of(w).losses().as_params(),
        versions=versions("pandas"),


# Draws for the pair plots. The first batch has the parameter set that is shown.
use rule collect as collect_pairs with:
    input:
        observations=[f"{SBIBM}/{task}/observations.nc" for task in MAIN_TASKS],
        references=[path for task in MAIN_TASKS for path in references_of(task, STUDY.sbibm.shown_n_obs)],
        samples=[
            samples_of("sbibm", task, STUDY.sbibm.most_simulations, "samples", "GAUSS")[0]
            for task in MAIN_TASKS
        ],
    output:
        pairs=f"{SBIBM}/pairs.csv",
        truth=f"{SBIBM}/truth.csv",
    log:
        f"{LOGS}/sbibm/pairs.log",
    params:
        code=code("collect"),
        config=CollectSettings("pairs").as_params(),
        versions=versions("pandas"),


use rule collect as collect_certificates with:
    input:
        references=[path for task in PAPER_TASKS for path in references_of(task, STUDY.sbibm.n_obs)],
    output:
        f"{SBIBM}/certificates.csv",
    log:
        f"{LOGS}/sbibm/certificates.log",
    params:
        code=code("collect"),
        config=CollectSettings("certificates").as_params(),
        versions=versions("pandas"),


use rule collect as collect_partial with:
    input:
        plain=distances_of("samples", MAIN_CELLS if 1 in CONFIG["sbibm"]["partial"]["n_max"] else []),
        groups=distances_of("partial", MAIN_CELLS if STUDY.sbibm.group_networks else []),
    output:
        f"{SBIBM}/partial.csv",
    log:
        f"{LOGS}/sbibm/partial.log",
    params:
        code=code("collect"),
        config=STUDY.sbibm.collect_partial().as_params(),
        versions=versions("pandas"),


use rule collect as collect_draws with:
    input:
        tall=[
            path
            for problem in STUDY.jrnmm.problems
            for path in samples_of("jrnmm", problem, *STUDY.jrnmm.n_train, "samples", "GAUSS")
        ],
        single=[
            f"{JRNMM}/{problem}/n_train~{n_train}/single/GAUSS/batch~1-of-1.nc"
            for problem in STUDY.jrnmm.problems
            for n_train in STUDY.jrnmm.n_train
        ],
    output:
        f"{JRNMM}/draws.csv",
    log:
        f"{LOGS}/jrnmm/draws.log",
    params:
        code=code("collect"),
        config=CollectSettings("marginals").as_params(),
        versions=versions("pandas"),
