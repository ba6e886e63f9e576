"""The cells of the benchmark that are computed: what is needed or asked for, and no others."""

import shutil

import pytest
import yaml
from config_files import message, resolved, top
from paths import ROOT

from tallsbi.study import artifacts
from tallsbi.study.artifacts import ArtifactError
from tallsbi.study.claims.files import FOLDER, files_of
from tallsbi.study.parts import work
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.cells import Cell

MAIN = ("slcp", "lotka_volterra", "sir")
EXTRA = ("gaussian_linear", "gmm", "gmm_uniform", "bernoulli_glm", "bernoulli_glm_raw", "two_moons")
SIZES = (1000, 3000, 10000, 30000)
# The lines of the paper's figure 3 and of its figures of the additional tasks.
USUAL = ("GAUSS", "GAUSS-clip", "JAC-clip", "LANGEVIN", "LANGEVIN-clip")
OTHERS = ("DET_GEF", "DET_GEF-clip", "TAMED", "TAMED-clip")


def declared(root=ROOT, **changes):
    return artifacts.read(root, Study(resolved(**{"scale": "paper", **changes})))


def computed(root=ROOT, **changes):
    """The study as the workflow has it."""
    config = resolved(**{"scale": "paper", **changes})
    return Study(config, declared(root, **changes).cells)


def folders(study):
    return {
        f"{folder.rpartition('/')[0]}/{run}" for folder, runs in study.sbibm.sampled.items() for run in runs
    }


@pytest.fixture
def edited(tmp_path):
    """A copy of the declaration and the claims in which some artifacts, or all but some, are left out."""

    def leave(*names, only=()):
        shutil.copytree(ROOT / FOLDER, tmp_path / FOLDER, dirs_exist_ok=True)
        content = yaml.safe_load((ROOT / artifacts.DECLARATION).read_text(encoding="utf-8"))
        entries = content["artifacts"]
        kept = [name for name in entries if (name in only if only else name not in names)]
        content["artifacts"] = {name: entries[name] for name in kept}
        (tmp_path / artifacts.DECLARATION).write_text(yaml.safe_dump(content, sort_keys=False))
        return tmp_path

    return leave


def test_the_paper_s_cells_are_computed_and_no_others():
    cells = {(task, size, run) for task in MAIN for size in SIZES for run in (*USUAL, *OTHERS)}
    cells |= {(task, 30000, "JAC") for task in MAIN}
    cells |= {(task, size, run) for task in EXTRA for size in SIZES for run in USUAL}
    samples = {cell[:3] for cell in declared().cells if cell.variant == "samples"}
    assert samples == cells
    others = {cell[:3] for cell in declared().cells if cell.variant == "other_bounds"}
    assert others == {("slcp", 30000, run) for run in (*USUAL, *OTHERS, "JAC")}


def test_the_jobs_are_those_of_the_union_of_all_needs():
    made = declared()
    union = set().union(*(artifact.cells for artifact in made.artifacts.values()))
    paths = {f"sbibm/{cell.task}/n_train~{cell.n_train}/{cell.variant}/{cell.run}" for cell in union}
    paths |= {f"sbibm/{task}/n_train~{size}/guidance/GAUSS" for task in MAIN for size in SIZES}
    assert folders(computed()) == paths
    part = computed().sbibm
    for task, size in part.measured():
        runs = part.measure(task, size, "samples").runs
        assert set(runs) == {
            cell.run for cell in union if cell[:2] == (task, size) and cell.variant == "samples"
        }


def test_plain_and_clipped_draws_come_from_one_job_where_both_are_needed():
    part = computed().sbibm
    assert part.sample("gmm", 1000, "samples", "GAUSS", "1-of-1").names == ("GAUSS", "GAUSS-clip")
    assert part.sample("sir", 30000, "samples", "JAC", "1-of-1").names == ("JAC", "JAC-clip")
    assert part.sample("sir", 10000, "samples", "JAC", "1-of-1").names == ("JAC-clip",)
    assert part.sample("sir", 10000, "guidance", "GAUSS", "1-of-1").names == ("GAUSS",)
    by_form = [set(part.folders(*forms)) for forms in (["plain", "clipped"], ["plain"], ["clipped"])]
    assert set.union(*by_form) == set(part.sampled)
    assert sum(map(len, by_form)) == len(part.sampled)
    assert "sbibm/sir/n_train~10000/samples/JAC" in by_form[2]


def test_less_work_is_planned_for_fewer_runs():
    every, part = Study(resolved(scale="paper")).sbibm, computed().sbibm
    one, both = (sbibm.sample("sir", 1000, "samples", "JAC", "1-of-1") for sbibm in (part, every))
    assert work.sample_of(part, one) == work.sample_of(every, both) / 2
    sizes = [work.measure(sbibm, "gmm", 1000, "samples") for sbibm in (part, every)]
    assert sizes[0] / sizes[1] == 5 / 10


@pytest.mark.parametrize(
    ("left_out", "lost"),
    [
        (
            ["langevin_tamed"],
            {(task, size, run) for task in MAIN for size in SIZES[:3] for run in OTHERS[2:]},
        ),
        (["det_gef_sbibm"], {(task, size, "DET_GEF-clip") for task in MAIN for size in SIZES[:3]}),
        (["cfg_sw"], set()),
        (
            ["metric_summary", *(f"sbibm_extra_{metric}_vs_ntrain" for metric in ("sw", "mmd", "c2st"))],
            # The claims compare GAUSS and LANGEVIN at the largest N_train, clipped JAC on three tasks; sets are
            # excluded by GAUSS, where N_train is above 3000.
            {(task, size, run) for task in EXTRA for size in SIZES for run in USUAL}
            - {(task, size, "GAUSS") for task in EXTRA for size in SIZES[2:]}
            - {(task, 30000, "LANGEVIN") for task in EXTRA}
            - {(task, 30000, "JAC-clip") for task in ("two_moons", "bernoulli_glm", "bernoulli_glm_raw")},
        ),
    ],
    ids=["tamed", "det_gef", "one of three", "extra tasks"],
)
def test_without_an_artifact_there_are_no_jobs_that_only_it_needs(edited, left_out, lost):
    before, after = folders(computed()), folders(computed(edited(*left_out)))
    gone = {f"sbibm/{task}/n_train~{size}/samples/{run}" for task, size, run in lost}
    assert before - after == gone
    assert after <= before


def test_claims_need_what_their_tests_name(edited):
    cells = {cell[:3] for cell in declared(edited(only=["claims"])).cells if cell.variant == "samples"}
    assert ("sir", 30000, "JAC") in cells, "the claim that plain JAC blows up"
    assert ("sir", 1000, "DET_GEF") in cells, "the trend in N_train of DET_GEF"
    assert ("sir", 1000, "TAMED") not in cells
    assert ("gmm", 10000, "GAUSS") in cells, "parameter sets are excluded by it"
    assert ("gmm", 1000, "GAUSS") not in cells
    assert {run for task, _, run in cells if task == "gmm"} == {"GAUSS", "LANGEVIN"}


def test_a_claim_that_goes_takes_its_cells_with_it(edited):
    root = edited(only=["claims"])
    before = declared(root).cells
    for file in files_of(root / FOLDER):
        content = yaml.safe_load(file.read_text())
        kept = [claim for claim in content.get("claims", []) if claim["id"] not in ("C21", "C50")]
        file.write_text(yaml.safe_dump({**content, "claims": kept}))
    gone = before - declared(root).cells
    # Both are about trends in N_train; for the largest, and for GAUSS above 3000, there are other reasons.
    assert {cell.run for cell in gone if cell.n_train == 1000} == {"GAUSS", "JAC-clip", "LANGEVIN", "DET_GEF"}
    assert {cell.run for cell in gone if cell.n_train == 10000} == {"JAC-clip", "LANGEVIN", "DET_GEF"}
    assert all(cell.n_train < 30000 for cell in gone)


def test_a_cell_that_is_asked_for_is_added_and_nothing_else():
    before = folders(computed())
    one = computed(sbibm={"cells": ["gmm/TAMED-clip/3000"]})
    assert folders(one) - before == {"sbibm/gmm/n_train~3000/samples/TAMED-clip"}
    assert before < folders(one)
    assert "TAMED-clip" in one.sbibm.measure("gmm", 3000, "samples").runs
    every = folders(computed(sbibm={"cells": ["gmm/JAC"]}))
    assert every - before == {f"sbibm/gmm/n_train~{size}/samples/JAC" for size in SIZES}
    assert folders(computed(sbibm={"cells": ["gmm/GAUSS/3000"]})) == before


def test_a_cell_that_is_asked_for_is_shown_where_no_methods_are_listed():
    shown = {
        name: artifact.settings.runs
        for name, artifact in declared(sbibm={"cells": ["gmm/TAMED/3000"]}).artifacts.items()
        if "tasks" in vars(artifact.settings) and hasattr(artifact.settings, "runs")
    }
    assert shown["sbibm_extra_sw_vs_ntrain"] == (*USUAL, "TAMED")
    assert shown["sbibm_sw_vs_ntrain"] == USUAL
    assert shown["langevin_tamed"] == ("LANGEVIN", "LANGEVIN-clip", "TAMED", "TAMED-clip")


def test_a_new_method_is_in_the_figures_and_tables_that_list_no_methods():
    new = {"NEWTON": {"algorithm": "GAUSS", "steps": 40}}
    more = declared(methods=new).cells - declared().cells
    assert {cell.run for cell in more} == {"NEWTON", "NEWTON-clip"}
    assert {cell.task for cell in more} == {*MAIN, *EXTRA}
    made = declared(methods=new).artifacts
    assert "NEWTON" in made["det_gef_sbibm"].settings.runs
    assert "NEWTON" not in made["langevin_tamed"].settings.runs
    none = declared(methods={"NEWTON": {**new["NEWTON"], "parts": ["toy"]}}).cells
    assert none == declared().cells


def test_a_method_that_is_left_out_of_the_benchmark_is_not_needed():
    cells = declared(methods={"TAMED": {"parts": ["beyond"]}}).cells
    assert not any(cell.run.startswith("TAMED") for cell in cells)
    assert Cell("sir", 1000, "DET_GEF") in cells


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("gmn/GAUSS", ["sbibm.cells", "no task `gmn`", "did you mean `gmm`"]),
        ("gmm/GAUS", ["sbibm.cells", "no method `GAUS`", "did you mean `GAUSS`"]),
        ("gmm/GAUSS_PD", ["no method `GAUSS_PD` in the benchmark"]),
        ("gmm/GAUSS/1234", ["no networks with N_train = 1234", "sbibm.n_train = [2000]"]),
        ("gmm", ["sbibm.cells[0] = 'gmm'", "a task and a method"]),
        ("gmm/gauss", ["sbibm.cells[0] = 'gmm/gauss'"]),
    ],
)
def test_a_cell_that_cannot_be_is_refused(cell, words):
    text = message(top(sbibm={"cells": [cell]}))
    for word in words:
        assert word in text


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"run": ["GAUSS"]}, "no key run; use one of tasks, runs, n_train"),
        ({"runs": ["GAUS-clip"]}, "no method `GAUS-clip`"),
        ({"runs": {"except": ["JACK"]}}, "no method `JACK`"),
        ({"n_train": "most"}, "n_train = 'most': write all or largest"),
        ("all", "write {runs"),
    ],
)
def test_a_wrong_need_is_refused_by_name(edited, cells, words):
    path = edited() / artifacts.DECLARATION
    content = yaml.safe_load(path.read_text())
    content["artifacts"]["cfg_sw"]["cells"] = cells
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(ArtifactError, match=f"cfg_sw: cells = .*{words}"):
        declared(path.parents[1])
