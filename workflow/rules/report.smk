"""The report page of the run: every table and figure, the claims, and what the run took."""

REPORT = f"{RESULTS}/report/index.html"
# What the page reads beside the files of the run. It counts as code, so that a new file time alone reruns nothing.
REPORT_FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "src/tallsbi/study/report/templates/*",
        "workflow/report/*",
        "workflow/protocols/*.yaml",
        "workflow/schemas/config.schema.yaml",
        "workflow/schemas/config/*.yaml",
    )
    for path in ROOT.glob(pattern)
)


rule make_report:
    input:
        artifacts=outputs_of(ARTIFACTS.of()),
        # The page looks up failures in the tidy data.
        data=sorted({path for artifact in ARTIFACTS.of() for path in artifact.data.values()}),
    output:
        page=REPORT,
        record=f"{RESULTS}/report/run.json",
    log:
        f"{LOGS}/report.log",
    params:
        code=code("make_report", *REPORT_FILES),
        config=CONFIG,
        page=ARTIFACTS.page,
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
