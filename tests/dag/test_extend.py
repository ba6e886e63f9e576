"""The files of docs/extend.md, put into a copy of the study and run: one file and one line each."""

from __future__ import annotations

import re

import pandas as pd
import pytest
import xarray as xr

from study import REPOSITORY, Study, clone, setting

pytestmark = pytest.mark.dag

GUIDE = (REPOSITORY / "docs/extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (src/\S+)\n(.*?)```", GUIDE, re.DOTALL))
(METHOD_LINE,) = re.findall(r"^    (EULER: .*)$", GUIDE, re.MULTILINE)
(FIGURE_ENTRY,) = re.findall(r"```yaml\n(  toy_finite:.*?)```", GUIDE, re.DOTALL)
(TASK_LINE,) = re.findall(r"^    (extra_tasks: .*)$", GUIDE, re.MULTILINE)
SIZES = """
sets: 2
n_obs: [1, 3]
n_train: [400]
simulations: 400
observations: 4
epochs: 30
samples: 40
"""
SMALL = ("--config", setting("sbibm", SIZES))


def study_with(path: str, tmp_path) -> Study:
    study = clone(tmp_path / "study")
    (study.root / path).write_text(FILES[path], encoding="utf-8")
    return study


def test_the_guide_has_an_algorithm_a_task_and_a_figure():
    assert list(FILES) == [
        "src/tallsbi/algorithms/euler.py",
        "src/tallsbi/study/tasks/location_scale.py",
        "src/tallsbi/study/figures/toy_finite.py",
    ]


def test_new_algorithm_is_one_file_and_one_line(tmp_path):
    study = study_with("src/tallsbi/algorithms/euler.py", tmp_path)
    study.edit("config.yaml", "  DET_GEF:  {}\n", f"  DET_GEF:  {{}}\n  {METHOD_LINE}\n")
    plan = study.planned("toy", "sbibm", "jrnmm")
    for rule in ("sample_toy", "sample"):
        assert any("EULER" in output for output in plan[rule]), rule
    samples = "results/smoke/toy/gaussian-standard/m~2/noise~0/T~400/EULER.nc"
    study.run(samples)
    theta = xr.load_dataset(study.root / samples).theta
    assert bool(theta.notnull().all())
    spread = theta.std("sample").mean(["seed", "parameter"])
    assert (spread.diff("n") < 0).all(), "the posterior narrows with n"


def test_new_task_is_one_file_and_one_line(tmp_path):
    study = study_with("src/tallsbi/study/tasks/location_scale.py", tmp_path)
    config = (study.root / "config.yaml").read_text()
    (before,) = re.findall(r"^  extra_tasks: .*$", config, re.MULTILINE)
    study.edit("config.yaml", before, f"  {TASK_LINE}")
    assert any("location_scale" in output for output in study.planned("sbibm")["measure"])
    distances = "results/smoke/sbibm/location_scale/n_train~400/samples/distances.csv"
    study.run(distances, *SMALL)
    frame = pd.read_csv(study.root / distances)
    assert set(frame.n) == {1, 3}
    assert frame[frame.method == "GAUSS-clip"].finite_share.eq(1).all()
    for n in (1, 3):
        reference = xr.load_dataset(study.root / f"results/smoke/sbibm/location_scale/references/n~{n}.nc")
        assert reference.passed.all(), "the references are certified"


def test_new_figure_is_one_function_and_one_entry(tmp_path):
    study = study_with("src/tallsbi/study/figures/toy_finite.py", tmp_path)
    with (study.root / "workflow/artifacts.yaml").open("a", encoding="utf-8") as declaration:
        declaration.write("\n" + FIGURE_ENTRY)
    (study.root / "workflow/report/toy_finite.rst").write_text("The share of finite samples.\n")
    plan = study.planned("toy")
    assert plan["draw_toy_finite"] == [
        f"results/smoke/figures/toy_finite.{suffix}" for suffix in ("pdf", "png")
    ]
