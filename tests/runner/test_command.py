"""The commands behind `make`."""

from tallsbi.runner.command import Project, main

PROJECT = Project(stages={}, timed=())


def test_where_lists_what_is_there(tmp_path, capsys):
    (tmp_path / "config.yaml").write_text("{scale: smoke, protocol: published}\n")
    assert main(PROJECT, ["where"], tmp_path) == 0  # `make results ARGS=toy` may have made a part
    assert (
        capsys.readouterr().out
        == "Results  results/smoke   (no tables or figures yet: they come without ARGS)\n"
    )
    for name in ["tables/a.csv", "tables/a.md", "tables/b.csv", "figures/f.svg", "report/index.html"]:
        path = tmp_path / "results/smoke-stated" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert main(PROJECT, ["where", "--protocol", "stated"], tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Tables   results/smoke-stated/tables              (2 tables)",
        "Figures  results/smoke-stated/figures             (1 figure)",
        "Report   results/smoke-stated/report/index.html",
    ]
    assert main(PROJECT, ["directory", "--config", "run=trial"], tmp_path) == 0
    assert capsys.readouterr().out == "results/trial\n"
