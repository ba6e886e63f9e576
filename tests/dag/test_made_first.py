"""What finished and unfinished jobs share is made first: what is finished stays as it is."""

from __future__ import annotations

import pytest

from study import Study, clone, setting

pytestmark = pytest.mark.dag

RUN = "results/trial"
FOLDER = f"{RUN}/toy/gaussian-wide/m~2"
FINISHED, UNFINISHED = (f"{FOLDER}/noise~{noise}/distances.csv" for noise in ("0", "0.01"))
TOY = (
    "{seeds: 2, samples: 30, dims: [2, 10], noise: [0, 0.01], n_obs: [2, 32],"
    " mala: {draws: 50, min_ess: 10, max_rhat: 2}}"
)
METHODS = """
GAUSS: {steps: 5, cov_samples: 20, cov_steps: 5}
GAUSS_WHITENED: {parts: [beyond]}
JAC: {parts: [beyond]}
LANGEVIN: {parts: [beyond]}
DET_GEF: {steps: 5}
TAMED: {parts: [beyond]}
GAUSS_PD: {parts: [beyond]}
JAC_PD: {parts: [beyond]}
"""
CONFIG = f"run=trial 'toy={TOY}' '{setting('methods', METHODS)}'"


@pytest.fixture
def study(tmp_path) -> Study:
    """A run of two cells, one of which is finished; what is large is missing, the reference of both among it."""
    study = clone(tmp_path / "study")
    done = study.make(CONFIG=CONFIG, ARGS=f"{FINISHED} {UNFINISHED}")
    assert done.returncode == 0, done.stderr[-3000:]
    for path in [*(study.root / RUN).rglob("*.nc"), study.root / UNFINISHED]:
        path.unlink()
    return study


def test_the_finished_cell_is_left_alone(study):
    kept, lost = study.root / FINISHED, study.root / f"{FOLDER}/reference.nc"
    before = kept.read_bytes(), kept.stat().st_ino
    done = study.make(CONFIG=CONFIG, ARGS=f"{FINISHED} {UNFINISHED}")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Making 1 missing file first, from which finished results were made too." in done.stderr
    assert lost.is_file()
    assert (study.root / UNFINISHED).is_file()
    assert (kept.read_bytes(), kept.stat().st_ino) == before
    # The samples of the finished cell are not asked for by anybody.
    assert not (kept.parent / "T~5/GAUSS.nc").exists()


def test_snakemake_alone_makes_it_again(study):
    """Why the launcher looks: this is what it prevents."""
    words = ["run=trial", f"toy={TOY}", setting("methods", METHODS)]
    planned = study.planned(FINISHED, UNFINISHED, "--config", *words)
    assert FINISHED in planned["measure_toy"]
