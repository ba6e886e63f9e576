"""What the claims ledger needs beyond the data of the artifacts."""

# Posteriors whose modes are counted: enough to find one that differs.
MODES = {"tasks": MAIN_TASKS, "sets": min(CFG["sbibm"]["sets"], 3), "n": min(8, CFG["sbibm"]["observations"])}


rule check_theory:
    output:
        f"{RESULTS}/claims/theory.csv",
    log:
        f"{LOGS}/claims/theory.log",
    benchmark:
        f"{RECORDS}/claims/theory.tsv"
    resources:
        **cost("check_theory"),
    params:
        code=code("check_theory", *map(module_of, TOY_METHODS), *map(task_module, MAIN_TASKS)),
        config={
            **pick("seed", "clip", "ddim", "toy.correlation", "toy.wide_prior", "toy.mixture"),
            "switch_over": 0.0,
            "methods": TOY_METHODS,
            "modes": MODES,
        },
        versions=versions("jax", "numba", "numpy", "pandas", "scipy", "torch"),
    script:
        "../scripts/check_theory.py"
