"""The toy study at smoke scale, run for real; what it makes, and what reruns after a change.

The first fixture runs the whole DAG once. The tests on changes work on copies of it and only ask
Snakemake what it would do.
"""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from study import REPOSITORY, Study, clone

pytestmark = pytest.mark.dag

SMOKE = yaml.safe_load((REPOSITORY / "workflow/scales/smoke.yaml").read_text())["toy"]
METHODS = ["GAUSS", "GAUSS_WHITENED", "JAC", "LANGEVIN", "DET_GEF"]
TOY_FIGURES = {
    "draw_toy_sw_vs_n",
    "draw_toy_gaussian_by_dim",
    "draw_toy_gaussian_by_noise",
    "draw_det_gef_toy",
    "draw_toy_prior_width",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    study = clone(tmp_path_factory.mktemp("finished") / "study")
    study.run("toy")
    return study


@pytest.fixture
def copy(finished, tmp_path) -> Study:
    """A copy of the finished study, modification times kept, free to be changed."""
    shutil.copytree(finished.root, tmp_path / "study", symlinks=True)
    return Study(tmp_path / "study")


def table(study: Study, name: str) -> pd.DataFrame:
    return pd.read_csv(study.root / f"results/smoke/tables/{name}.csv")


# What the run makes


def test_second_run_has_nothing_to_do(finished):
    assert finished.planned("toy") == {}


def test_distances_cover_the_grid_once(finished):
    frame = pd.read_csv(finished.root / "results/smoke/toy/distances.csv")
    cells = ["problem", "m", "noise", "n", "seed", "method"]
    assert not frame.duplicated(cells).any()
    gaussian = 2 * len(SMOKE["dims"])
    expected = (gaussian + 1) * len(SMOKE["noise"]) * len(SMOKE["n_obs"]) * SMOKE["seeds"] * len(METHODS)
    assert len(frame) == expected
    assert set(frame.method) == set(METHODS)
    assert frame.groupby(["problem", "m", "noise", "n", "method"]).seed.nunique().eq(SMOKE["seeds"]).all()
    assert (frame.sw > 0).sum() + frame.sw.isna().sum() == len(frame)
    assert (frame.max_sw >= frame.sw)[frame.sw.notna()].all()
    assert frame.reference_passed.all()


def test_methods_are_exact_on_the_unperturbed_gaussian(finished):
    """At eps = 0 JAC is exact; GAUSS differs by the noise of its covariances, which matters when m is larger."""
    frame = pd.read_csv(finished.root / "results/smoke/toy/distances.csv")
    frame = frame[(frame.noise == 0) & (frame.problem == "gaussian-standard")]
    mean = frame.groupby(["method", "m", "n"]).sw_norm.mean()
    assert (mean["JAC"] < 0.05).all()
    assert (mean["GAUSS_WHITENED"] < 0.05).all()
    assert (mean["GAUSS"][2] < 0.05).all()
    assert (mean["GAUSS"][10] < 0.2).all()


def test_posterior_narrows_with_n(finished):
    for problem in ("gaussian-wide", "gaussian-standard", "mixture"):
        reference = xr.load_dataset(finished.root / f"results/smoke/toy/{problem}/m~10/reference.nc")
        spread = reference.theta.std("sample").mean(["seed", "parameter"])
        assert (np.diff(spread.values) < 0).all()
        samples = finished.root / f"results/smoke/toy/{problem}/m~10/noise~0/T~150/GAUSS.nc"
        spread = xr.load_dataset(samples).theta.std("sample").mean(["seed", "parameter"])
        assert (np.diff(spread.values) < 0).all()


def test_tables_have_their_rows_and_the_printed_numbers(finished):
    for name, seconds, max_sw in (("toy_gaussian_sw_time", 0.45, 0.17), ("toy_gmm_sw_time", 0.99, 0.30)):
        frame = table(finished, name)
        assert sorted(map(tuple, frame[["method", "steps"]].values.tolist())) == sorted(
            (method, steps) for method in METHODS for steps in SMOKE["steps"]
        )
        assert (frame.seeds == SMOKE["seeds"]).all()
        assert (frame.seconds > 0).all()
        printed = frame.set_index(["method", "steps"])
        assert printed.loc[("GAUSS", 50), "seconds_paper"] == seconds
        assert printed.loc[("GAUSS", 50), "max_sw_paper"] == max_sw
        assert printed.loc[("GAUSS", 50), "sw"] > 0
    wide = table(finished, "toy_gaussian_sw_time").set_index(["method", "steps"])
    # The paper prints nan here too: at T = 50 the Langevin steps are too long for the wide prior.
    assert np.isnan(wide.loc[("LANGEVIN", 50), "sw"])
    assert wide.loc[("LANGEVIN", 50), "lost"] > 0
    assert wide.loc[("GAUSS", 150), "sw"] < wide.loc[("LANGEVIN", 150), "sw"]


def test_speedup_table_compares_with_langevin(finished):
    frame = table(finished, "toy_speedup")
    assert set(frame.m) == set(SMOKE["timing"]["dims"])
    assert set(frame.method) == set(METHODS) - {"LANGEVIN"}
    assert (frame.ratio > 0).all()
    assert (frame[frame.method == "DET_GEF"].ratio < 1).all()
    assert frame[(frame.method == "DET_GEF") & (frame.m == 10)].paper.tolist() == [0.22]


def test_readable_tables_hold_the_same_rows(finished):
    text = (finished.root / "results/smoke/tables/toy_gaussian_sw_time.md").read_text()
    assert text.count("| LANGEVIN") == len(SMOKE["steps"])
    assert "lost" in text
    latex = (finished.root / "results/smoke/tables/toy_gaussian_sw_time.tex").read_text()
    assert latex.count(r"\\") == 1 + len(METHODS) * len(SMOKE["steps"])


def test_figures_are_pictures(finished):
    from matplotlib.image import imread

    for path in sorted((finished.root / "results/smoke/figures").glob("*.png")):
        pixels = imread(path)
        assert min(pixels.shape[:2]) > 200
        assert pixels[..., :3].std() > 0.02, f"{path.name} is blank"
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")


def test_outputs_say_where_they_come_from(finished):
    path = finished.root / "results/smoke/toy/mixture/m~10/noise~0.01/T~150/JAC.nc"
    text = str(xr.load_dataset(path).attrs)
    for fact in ("2026", "torch", "JAC"):  # the seed of config.yaml, a package, a method
        assert fact in text
    assert (finished.root / "results/smoke/tables/toy_speedup.csv.meta.json").exists()


# What reruns after a change


def test_comments_docstrings_format_and_touch_rerun_nothing(copy):
    copy.edit(
        "src/tallsbi/compose/jac.py",
        '"""JAC: backward precisions',
        '"""JAC, explained anew: backward precisions',
    )
    copy.add_remarks()
    for path in copy.root.rglob("*"):
        if path.is_file() and "results" not in path.parts and ".snakemake" not in path.parts:
            path.touch()
    assert copy.planned("toy") == {}


def test_change_in_jac_reruns_jac_and_what_is_below(copy):
    copy.edit("src/tallsbi/compose/jac.py", "scores.sum(2)", "scores.sum(dim=2)")
    jobs = copy.planned("toy")
    sampled = jobs.pop("sample_toy")
    assert sampled
    assert all(path.endswith("/JAC.nc") for path in sampled)
    assert set(jobs) == {
        "time_toy",
        "measure_toy",
        "collect",
        "make_toy_gaussian_sw_time",
        "make_toy_gmm_sw_time",
        "make_toy_speedup",
        *TOY_FIGURES,
    }


def test_change_in_a_figure_reruns_that_figure(copy):
    copy.add_code("src/tallsbi/study/figures/toy_prior_width.py")
    assert set(copy.planned("toy")) == {"draw_toy_prior_width"}


def test_new_noise_level_runs_its_cells_and_the_aggregates(copy):
    copy.edit("workflow/scales/smoke.yaml", "noise: [0, 0.01]", "noise: [0, 0.01, 0.1]")
    jobs = copy.planned("toy")
    assert len(jobs["sample_toy"]) == 5 * len(METHODS)
    for path in jobs.pop("sample_toy") + jobs.pop("measure_toy"):
        assert "/noise~0.1/" in path
    assert jobs.pop("collect") == ["results/smoke/toy/distances.csv"]
    assert set(jobs) == TOY_FIGURES


def test_new_dimension_runs_its_cells_and_the_aggregates(copy):
    copy.edit("workflow/scales/smoke.yaml", "  dims: [2, 10]", "  dims: [2, 4, 10]")
    jobs = copy.planned("toy")
    for rule in ("sample_toy", "measure_toy", "reference_toy"):
        assert all("/m~4/" in path for path in jobs.pop(rule))
    assert jobs.pop("collect") == ["results/smoke/toy/distances.csv"]
    assert set(jobs) == TOY_FIGURES


def test_fresh_clone_beside_old_results_reruns_nothing(finished, tmp_path):
    fresh = clone(tmp_path / "fresh", results_of=finished)
    assert fresh.planned("toy") == {}


# Bad input


@pytest.mark.parametrize(
    ("settings", "fragments"),
    [
        (["sede=1"], ["sede", "did you mean", "seed"]),
        (["seed=-3"], ["seed", "-3"]),
        (["scale=papr"], ["papr", "paper", "smoke", "laptop"]),
        (["toy={noise: []}"], ["toy.noise"]),
    ],
)
def test_bad_setting_stops_before_any_job_with_one_message(copy, settings, fragments):
    done = copy.snakemake("--cores", "1", "--config", *settings)
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in output
    for fragment in fragments:
        assert fragment in output
