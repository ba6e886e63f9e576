"""The report page of the run: every table and figure, the claims, and what it took."""

REPORT = f"{RESULTS}/report/index.html"
# What the page reads beside the run's own files; as code, so that a new file time alone reruns nothing.
REPORT_FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "src/tallsbi/study/report/templates/*",
        "workflow/report/*",
        "workflow/protocols/*.yaml",
        "workflow/schemas/config.schema.yaml",
    )
    for path in ROOT.glob(pattern)
)
REPORT_DATA = [*(data for data, _ in FIGURES.values()), *(data for _, _, data, _ in TABLES.values())]


rule make_report:
    input:
        tables=table_paths(),
        figures=figure_paths(),
        # What failed is looked up in the tidy data.
        data=sorted({path for data in REPORT_DATA for path in data.values()}),
    output:
        page=REPORT,
        record=f"{RESULTS}/report/run.json",
    log:
        f"{LOGS}/report.log",
    params:
        code=code("make_report", *REPORT_FILES),
        config=CFG,
        figures={name: (f"tallsbi.study.figures.{name}", data) for name, (data, _) in FIGURES.items()},
        tables={
            name: (f"tallsbi.study.tables.{module}", data) for name, (module, _, data, _) in TABLES.items()
        },
        versions=versions(
            "jax",
            "matplotlib",
            "numba",
            "numpy",
            "numpyro",
            "pandas",
            "POT",
            "scikit-learn",
            "scipy",
            "snakemake",
            "torch",
        ),
    script:
        "../scripts/make_report.py"
