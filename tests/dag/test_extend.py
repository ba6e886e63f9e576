"""The files and edits of docs/extend.md, put into a copy of the study and run: they are all that is needed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
import xarray as xr

from study import REPOSITORY, Study, clone, setting

pytestmark = pytest.mark.dag

GUIDE = (REPOSITORY / "docs/extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (src/\S+)\n(.*?)```", GUIDE, re.DOTALL))
(METHOD_LINE,) = re.findall(r"^    (EULER: .*)$", GUIDE, re.MULTILINE)
(FIGURE_ENTRY,) = re.findall(r"```yaml\n(  toy_lost:.*?)```", GUIDE, re.DOTALL)
(TASK_LINE,) = re.findall(r"^    (extra_tasks: .*)$", GUIDE, re.MULTILINE)
EDITS = re.findall(r"```diff\n# (\S+)\n(.*?)```", GUIDE, re.DOTALL)
SIZES = """
sets: 2
n_obs: [1, 3]
n_train: [400]
simulations: 400
observations: 4
epochs: 30
samples: 40
"""
SMALL = ("--config", setting("sbibm", SIZES), "run=smoke")


def study_with(path: str, tmp_path) -> Study:
    study = clone(tmp_path / "study")
    (study.root / path).write_text(FILES[path], encoding="utf-8")
    return study


def side(diff: str, marks: str) -> str:
    """The text before an edit (marks " -") or after it (marks " +")."""
    return "".join(line[1:] for line in diff.splitlines(keepends=True) if line[0] in marks)


def test_the_guide_has_an_algorithm_a_task_a_figure_and_a_setting():
    assert {path for path, _ in EDITS} == {
        "config.yaml",
        "workflow/schemas/config.schema.yaml",
        "src/tallsbi/study/settings/measure.py",
        "src/tallsbi/study/stages/measure.py",
        "tests/helpers/settings.py",
    }
    assert list(FILES) == [
        "src/tallsbi/algorithms/euler.py",
        "src/tallsbi/study/tasks/location_scale.py",
        "src/tallsbi/study/figures/toy_lost.py",
    ]


def test_new_algorithm_is_one_file_and_one_line(tmp_path):
    study = study_with("src/tallsbi/algorithms/euler.py", tmp_path)
    study.edit("config.yaml", "  JAC:      {}\n", f"  JAC:      {{}}\n  {METHOD_LINE}\n")
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
    assert frame[frame.method == "GAUSS-clip"].lost_share.eq(0).all()
    for n in (1, 3):
        reference = xr.load_dataset(study.root / f"results/smoke/sbibm/location_scale/references/n~{n}.nc")
        assert reference.passed.all(), "the references are certified"


def test_new_figure_is_one_function_and_one_entry(tmp_path):
    study = study_with("src/tallsbi/study/figures/toy_lost.py", tmp_path)
    with (study.root / "workflow/artifacts.yaml").open("a", encoding="utf-8") as declaration:
        declaration.write("\n" + FIGURE_ENTRY)
    (study.root / "workflow/report/toy_lost.rst").write_text("The share of lost draws.\n")
    plan = study.planned("toy")
    assert plan["draw_toy_lost"] == [
        f"results/smoke/figures/toy_lost.{suffix}" for suffix in ("pdf", "png", "svg")
    ]


# Prints the params of the rule for a configured seed, and the seed that the stage gives to the classifiers.
USE_OF_SETTING = """
import json
from types import SimpleNamespace

from config_files import message, resolved, top
from settings import measuring
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.measure import MeasureSettings
from tallsbi.study.stages import measure

params = Study(resolved(metrics={"c2st_seed": 7})).sbibm.measure("slcp", 400, "samples").as_params()
seeds = []
measure.c2st = lambda pairs, *, seed, backend: seeds.append(seed) or []
measure.distance_table([SimpleNamespace(attrs={})], {}, MeasureSettings.from_params(params))
print(json.dumps({
    "default": Study(resolved()).sbibm.measure("slcp", 400, "samples").as_params()["c2st_seed"],
    "params": params["c2st_seed"],
    "stage": seeds,
    "tests": measuring(1).c2st_seed,
    "refused": message(top(metrics={"c2st_seed": -1})),
}))
"""


def test_new_setting_is_the_edits_of_the_guide(tmp_path):
    study = clone(tmp_path / "study")
    helpers = "tests/helpers"
    shutil.copytree(REPOSITORY / helpers, study.root / helpers)
    (study.root / "docs").mkdir()
    shutil.copyfile(REPOSITORY / "docs/config.md", study.root / "docs/config.md")
    for path, diff in EDITS:
        study.edit(path, side(diff, " -"), side(diff, " +"))

    paths = [str(study.root / folder) for folder in ("src", helpers)]
    environment = {**study.environment(), "PYTHONPATH": ":".join(paths)}

    def python(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=study.root, env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    values = json.loads(python("-c", USE_OF_SETTING))
    assert "metrics.c2st_seed = -1" in values.pop("refused")
    assert values == {"default": 1, "params": 7, "stage": [7], "tests": 1}
    python(f"{helpers}/config_docs.py")
    page = (study.root / "docs/config.md").read_text(encoding="utf-8")
    assert "| `metrics.c2st_seed` | an integer from 0 to 4294967295 | 1 |" in page
