"""`make redraw`: what can be drawn from the tidy data that is there, and nothing else."""

from __future__ import annotations

import pytest

from study import Study, clone

pytestmark = pytest.mark.dag

RUN = "results/trial"
CONFIG = "run=trial"
DATA, FIGURE = f"{RUN}/toy/pedagogical.csv", f"{RUN}/figures/pedagogical.png"


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    """A run with the data of one figure."""
    study = clone(tmp_path_factory.mktemp("redraw") / "study")
    done = study.make(CONFIG=CONFIG, ARGS=FIGURE)
    assert done.returncode == 0, done.stderr[-3000:]
    return study


def test_figures_are_drawn_again_and_nothing_is_computed(study):
    """Even where the code behind the data is another one now, and `make results` would compute them anew."""
    study.add_code("src/tallsbi/samplers/ddim.py")
    assert "illustrate_pedagogical" in study.planned(FIGURE, "--config", CONFIG)
    data, figure = study.root / DATA, study.root / FIGURE
    before, drawn = data.stat(), figure.stat().st_ino
    done = study.make("redraw", CONFIG=CONFIG)
    assert done.returncode == 0, done.stderr[-3000:]
    assert figure.stat().st_ino != drawn
    assert (data.stat().st_ino, data.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    # Other figures and tables have no data here.
    assert {path.stem for path in (study.root / RUN / "figures").iterdir()} == {"pedagogical"}
    assert not (study.root / RUN / "tables").exists()
    assert f"{RUN}/figures" in done.stdout


def test_a_run_that_is_not_there(study):
    done = study.make("redraw", CONFIG="run=nowhere")
    assert done.returncode != 0
    assert "results/nowhere does not exist, so there is nothing to draw from" in done.stderr
