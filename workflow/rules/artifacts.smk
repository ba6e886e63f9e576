"""Tables and figures: one rule each, as workflow/artifacts.yaml declares them, from tidy CSV only."""


def outputs_of(chosen):
    """All files of some tables and figures."""
    return [path for artifact in chosen for path in artifact.outputs]


def data_of(artifact):
    """The inputs of its rule; an input that is read only if present (`if_present`) must not rerun it either."""
    return {
        name: ancient(path) if name in artifact.if_present else path for name, path in artifact.data.items()
    }


DRAWABLE = [artifact for artifact in ARTIFACTS.of() if all(map(os.path.isfile, artifact.needed.values()))]


for figure in ARTIFACTS.of("figures"):

    rule:
        name:
            f"draw_{figure.id}"
        input:
            **data_of(figure),
        output:
            pdf=f"{RESULTS}/figures/{figure.id}.pdf",
            png=report(
                f"{RESULTS}/figures/{figure.id}.png",
                caption=f"../report/{figure.id}.rst",
                category="Figures",
                labels={"figure": figure.id},
            ),
            svg=f"{RESULTS}/figures/{figure.id}.svg",
        log:
            f"{LOGS}/figures/{figure.id}.log",
        benchmark:
            f"{RECORDS}/figures/{figure.id}.tsv"
        resources:
            **cost(f"draw_figure/{figure.id}"),
        params:
            function=figure.function,
            code=code("draw_figure", *figure.code),
            config=figure.params,
            versions=versions("matplotlib", "numpy", "pandas", "scipy"),
        script:
            "../scripts/draw_figure.py"


for table in ARTIFACTS.of("tables"):

    rule:
        name:
            f"make_{table.id}"
        input:
            **data_of(table),
        output:
            csv=report(
                f"{RESULTS}/tables/{table.id}.csv",
                caption=f"../report/{table.id}.rst",
                category="Tables",
                labels={"table": table.id},
            ),
            md=f"{RESULTS}/tables/{table.id}.md",
            tex=f"{RESULTS}/tables/{table.id}.tex",
        log:
            f"{LOGS}/tables/{table.id}.log",
        benchmark:
            f"{RECORDS}/tables/{table.id}.tsv"
        resources:
            **cost(f"make_table/{table.id}"),
        params:
            function=table.function,
            title=table.title,
            code=code("make_table", *table.code),
            config=table.params,
            versions=versions("numpy", "pandas"),
        script:
            "../scripts/make_table.py"


# The costs of a run: after all that has a record.
rule collect_costs:
    input:
        outputs_of(artifact for artifact in ARTIFACTS.of() if "costs" not in artifact.data),
    output:
        f"{RESULTS}/costs.csv",
    log:
        f"{LOGS}/costs.log",
    params:
        code=code("collect_costs"),
        config=CONFIG,
        versions=versions("pandas", "snakemake"),
    script:
        "../scripts/collect_costs.py"
