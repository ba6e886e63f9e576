"""What the claims ledger needs beyond the data of the artifacts."""


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
        code=code("check_theory", *map(module_of, STUDY.toy.methods), *map(task_module, MAIN_TASKS)),
        config=STUDY.theory().as_params(),
        versions=versions("jax", "numba", "numpy", "pandas", "scipy", "torch"),
    script:
        "../scripts/check_theory.py"
