"""Tables and figures: one rule each, drawn from tidy CSV only."""

TOY_METRIC = {"max_sliced": "max_sw_norm", "sliced": "sw_norm"}[CFG["fidelity"]["toy_metric"]]
TOY_DISTANCES = {"metrics": f"{TOY}/distances.csv"}
TOY_FIGURE = {
    "toy_prior": CFG["fidelity"]["toy_prior"],
    "metric": TOY_METRIC,
    "figure_dim": CFG["toy"]["figure_dim"],
}
PAPER = "workflow/resources"
SBIBM_DISTANCES = {"metrics": f"{SBIBM}/distances.csv"}
SBIBM_SETTINGS = {
    **{key: CFG["sbibm"][key] for key in ("tasks", "extra_tasks", "n_obs", "table_n_obs", "n_train", "sets")},
    "labels": {task: label_of(task) for task in TASKS},
    "exclude": CFG["fidelity"]["exclude_sets"],
}
SBIBM_PANELS = [
    f"sbibm_{kind}"
    for metric in ("sw", "mmd", "c2st")
    for kind in (f"{metric}_vs_ntrain", f"{metric}_vs_nobs")
]
if EXTRA_TASKS:
    SBIBM_PANELS += [f"sbibm_extra_{metric}_vs_ntrain" for metric in ("sw", "mmd", "c2st")]


def jrnmm_figure(dim):
    names = ["C", "mu", "sigma", "g"][:dim]
    return {
        "dim": dim,
        "parameters": names,
        "theta": [CFG["jrnmm"]["theta"][name] for name in names],
        "bounds": {name: JRNMM_BOUNDS[name] for name in names},
        "labels": {"C": "$C$", "mu": r"$\mu$", "sigma": r"$\sigma$", "g": "$g$"},
        "samples": CFG["jrnmm"]["samples"],
        "bandwidth": "standard deviation of the prior",
    }


# id: the CSV files it is drawn from, and the settings it needs
FIGURES = {
    "pedagogical": ({"pedagogical": f"{TOY}/pedagogical.csv"}, pick("toy.pedagogical")["toy"]["pedagogical"]),
    "toy_sw_vs_n": (TOY_DISTANCES, TOY_FIGURE),
    "toy_gaussian_by_dim": (TOY_DISTANCES, TOY_FIGURE),
    "toy_gaussian_by_noise": (TOY_DISTANCES, TOY_FIGURE),
    "det_gef_toy": (TOY_DISTANCES, TOY_FIGURE),
    "toy_prior_width": (TOY_DISTANCES, TOY_FIGURE),
    **{
        figure: (SBIBM_DISTANCES, SBIBM_SETTINGS)
        for figure in [*SBIBM_PANELS, "det_gef_sbibm", "langevin_tamed"]
    },
    **{
        f"sbibm_losses_bs{size}": ({"losses": f"{SBIBM}/losses.csv"}, SBIBM_SETTINGS)
        for size in (64, 256)
        if size in CFG["sbibm"]["training"]["batch_sizes"]
    },
    "sbibm_pairplots": ({"pairs": f"{SBIBM}/pairs.csv", "truth": f"{SBIBM}/truth.csv"}, SBIBM_SETTINGS),
    **{
        f"cfg_{metric}": ({**SBIBM_DISTANCES, "cfg": f"{SBIBM}/guidance.csv"}, SBIBM_SETTINGS)
        for metric in ("sw", "mmd", "c2st")
    },
    "pf_npse": ({**SBIBM_DISTANCES, "partial": f"{SBIBM}/partial.csv"}, SBIBM_SETTINGS),
    **(
        {"steps_vs_accuracy": ({"steps": f"{SBIBM}/steps.csv"}, {**SBIBM_SETTINGS, "tasks": STEPS_TASKS})}
        if STEPS_TASKS
        else {}
    ),
    **(
        {"many_observations": ({"many": f"{SBIBM}/many.csv"}, {**SBIBM_SETTINGS, "tasks": MANY_TASKS})}
        if MANY_TASKS
        else {}
    ),
    "jrnmm_losses": (
        {"losses": f"{JRNMM}/losses.csv"},
        {"tasks": [f"{dim}d" for dim in JRNMM_DIMS], "labels": {f"{dim}d": f"{dim}-D" for dim in JRNMM_DIMS}},
    ),
    **{
        f"jrnmm_{dim}d": (
            {"dirac": f"{JRNMM}/dirac.csv", "draws": f"{JRNMM}/draws.csv"},
            jrnmm_figure(dim),
        )
        for dim in JRNMM_DIMS
    },
    **{f"jrnmm_lc2st_{dim}d": ({"lc2st": f"{JRNMM}/lc2st.csv"}, jrnmm_figure(dim)) for dim in JRNMM_DIMS},
}


def toy_table(problem):
    """Settings of the toy tables of a problem."""
    timing = CFG["toy"]["timing"]
    return {
        "problem": problem,
        "cell": toy_cell(problem),
        "metric": TOY_METRIC,
        "samples": CFG["toy"]["samples"],
        "repeats": timing["repeats"],
        "timing_samples": timing["samples"],
    }


def toy_sw_time_data(table):
    return {
        "steps": f"{TOY}/steps.csv",
        "timing": f"{TOY}/timing.csv",
        "paper": f"{PAPER}/{table}.csv",
    }


# By the names of tallsbi.study.claims.views.
CLAIMS_DATA = {
    "toy_distances": f"{TOY}/distances.csv",
    "toy_steps": f"{TOY}/steps.csv",
    "toy_timing": f"{TOY}/timing.csv",
    "pedagogical": f"{TOY}/pedagogical.csv",
    "sbibm_distances": f"{SBIBM}/distances.csv",
    **({"other_bounds": f"{SBIBM}/other_bounds.csv"} if BOUNDS_TASKS else {}),
    "sbibm_losses": f"{SBIBM}/losses.csv",
    "guidance": f"{SBIBM}/guidance.csv",
    "partial": f"{SBIBM}/partial.csv",
    "jrnmm_draws": f"{JRNMM}/draws.csv",
    "jrnmm_lc2st": f"{JRNMM}/lc2st.csv",
    "jrnmm_losses": f"{JRNMM}/losses.csv",
    "theory": f"{RESULTS}/claims/theory.csv",
}
# id: the module that makes it, its title, the CSV files, the settings
TABLES = {
    "toy_gaussian_sw_time": (
        "toy_sw_time",
        "Gaussian toy: sampling time and distance to the exact posterior",
        toy_sw_time_data("toy_gaussian_sw_time"),
        toy_table(TOY_GAUSSIAN),
    ),
    "toy_gmm_sw_time": (
        "toy_sw_time",
        "Mixture toy: sampling time and distance to the reference posterior",
        toy_sw_time_data("toy_gmm_sw_time"),
        toy_table("mixture"),
    ),
    "toy_speedup": (
        "toy_speedup",
        "Runtime relative to LANGEVIN",
        {"timing": f"{TOY}/timing.csv", "paper": f"{PAPER}/toy_speedup.csv"},
        toy_table(TOY_GAUSSIAN),
    ),
    **{
        f"sbibm_{task}": (
            "sbibm_task",
            f"{label_of(task)}: distances to the reference posterior",
            {**SBIBM_DISTANCES, "paper": f"{PAPER}/sbibm_tables.csv"},
            {**SBIBM_SETTINGS, "task": task},
        )
        for task in MAIN_TASKS
    },
    "metric_summary": (
        "metric_summary",
        "Best method per metric and task for n > 1",
        {**SBIBM_DISTANCES, "paper": f"{PAPER}/metric_summary.csv"},
        SBIBM_SETTINGS,
    ),
    "reference_certificates": (
        "reference_certificates",
        "Certificates of the reference posteriors",
        {"certificates": f"{SBIBM}/certificates.csv"},
        SBIBM_SETTINGS,
    ),
    "cost": (
        "cost",
        "Jobs and core-hours per stage",
        {"costs": f"{RESULTS}/costs.csv"},
        {"run": run_name(CFG)},
    ),
    "claims": (
        "claims",
        "The paper's claims on the data of this run",
        {**CLAIMS_DATA, **other_claims()},
        {
            "claims": CLAIMS,
            "other_run": OTHER_RUN,
            "content": fingerprint(CLAIMS, "workflow/schemas/claims.schema.yaml", root=ROOT),
            "fidelity": CFG["fidelity"],
            "toy_metric": TOY_METRIC.removesuffix("_norm"),
            "uniform_tasks": list(filter(has_uniform_prior, TASKS)),
            "theta": CFG["jrnmm"]["theta"],
            "bounds": JRNMM_BOUNDS,
        },
    ),
}
OF_ALL = ("claims", "cost")  # made of every part


def of_toy(artifact):
    """Whether a table or figure belongs to the toy study."""
    return artifact.startswith("toy_") or artifact in ("pedagogical", "det_gef_toy")


def of_jrnmm(artifact):
    return artifact.startswith("jrnmm_")


def of_sbibm(artifact):
    return not (of_toy(artifact) or of_jrnmm(artifact) or artifact in OF_ALL)


def figure_paths(figures=FIGURES):
    return [f"{RESULTS}/figures/{figure}.{suffix}" for figure in figures for suffix in ("pdf", "png")]


def table_paths(tables=TABLES):
    return [f"{RESULTS}/tables/{table}.{suffix}" for table in tables for suffix in ("csv", "md", "tex")]


for figure, (data, settings) in FIGURES.items():

    rule:
        name:
            f"draw_{figure}"
        input:
            **data,
        output:
            pdf=f"{RESULTS}/figures/{figure}.pdf",
            png=report(
                f"{RESULTS}/figures/{figure}.png",
                caption=f"../report/{figure}.rst",
                category="Figures",
                labels={"figure": figure},
            ),
        log:
            f"{LOGS}/figures/{figure}.log",
        benchmark:
            f"{RECORDS}/figures/{figure}.tsv"
        resources:
            **cost(f"draw_figure/{figure}"),
        params:
            module=f"tallsbi.study.figures.{figure}",
            code=code("draw_figure", f"tallsbi.study.figures.{figure}"),
            config=settings,
            versions=versions("matplotlib", "numpy", "pandas", "scipy"),
        script:
            "../scripts/draw_figure.py"


# The costs of a run: after all that has a record.
rule collect_costs:
    input:
        table_paths(table for table in TABLES if table != "cost"),
        figure_paths(),
    output:
        f"{RESULTS}/costs.csv",
    log:
        f"{LOGS}/costs.log",
    params:
        code=code("collect_costs"),
        config=CFG,
        versions=versions("pandas", "snakemake"),
    script:
        "../scripts/collect_costs.py"


for table, (module, title, data, settings) in TABLES.items():

    rule:
        name:
            f"make_{table}"
        input:
            **data,
        output:
            csv=report(
                f"{RESULTS}/tables/{table}.csv",
                caption=f"../report/{table}.rst",
                category="Tables",
                labels={"table": table},
            ),
            md=f"{RESULTS}/tables/{table}.md",
            tex=f"{RESULTS}/tables/{table}.tex",
        log:
            f"{LOGS}/tables/{table}.log",
        benchmark:
            f"{RECORDS}/tables/{table}.tsv"
        resources:
            **cost(f"make_table/{table}"),
        params:
            module=f"tallsbi.study.tables.{module}",
            title=title,
            code=code("make_table", f"tallsbi.study.tables.{module}"),
            config=settings,
            versions=versions("numpy", "pandas"),
        script:
            "../scripts/make_table.py"
