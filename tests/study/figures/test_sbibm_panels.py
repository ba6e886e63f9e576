"""The grids of the sbibm part show what is in their data: means, bands, axes, divergence and doubt."""

import io
from dataclasses import replace

import drawn
import numpy as np
import pandas as pd
import pytest
import sbibm_data as made_up
from drawn import labelled, legend_labels, lines, marks, panels, png, row_title, smallest_panel
from matplotlib.colors import to_rgba
from sbibm_data import LABELS, N_OBS, N_TRAIN, SETTINGS, TASKS, metrics

from tallsbi.study.figures import legend, sbibm_panels

MAIN = {"GAUSS (1000)", "GAUSS-clip (1000)", "JAC-clip (400)", "LANGEVIN (400)", "LANGEVIN-clip (400)"}
NTRAIN = [f"sbibm_{metric}_vs_ntrain" for metric in ("sw", "mmd", "c2st")]
NOBS = [f"sbibm_{metric}_vs_nobs" for metric in ("sw", "mmd", "c2st")]
EXTRA = [f"sbibm_extra_{metric}_vs_ntrain" for metric in ("sw", "mmd", "c2st")]


@pytest.fixture(scope="module")
def frame():
    return metrics(n_obs=(1, 14, 30), n_train=(1000, 30000))


def draw(name, frame, **settings):
    tasks = tuple(made_up.EXTRA) if "extra" in name else SETTINGS.tasks
    return drawn.draw(name, {"metrics": frame}, replace(SETTINGS, tasks=tasks, **settings))


def small(value=0.2, methods=("GAUSS",), sets=25, task="slcp", **columns):
    """One panel with two N_train, all distances equal unless said otherwise."""
    frame = metrics(
        tasks=[task],
        methods={m: made_up.STEPS.get(m, 40) for m in methods},
        n_obs=(8,),
        n_train=(1000, 3000),
        sets=sets,
    )
    return frame.assign(sw=value, reference_passed=True, **columns)


@pytest.mark.parametrize("name", NTRAIN)
def test_rows_are_tasks_and_columns_n(name, frame):
    axes = panels(draw(name, frame), 3, 3)
    assert [ax.get_title() for ax in axes[0]] == ["n = 1", "n = 14", "n = 30"]
    titles = [row_title(row[-1]) for row in axes]
    assert titles == [f"{LABELS[task]}\n25 sets" for task in TASKS]
    assert all(ax.get_xscale() == "log" for ax in axes.flat)
    assert [text.get_text() for text in axes[-1, 0].get_xticklabels()] == ["1k", "30k"]
    assert lines(axes[0, 0]).keys() == MAIN


@pytest.mark.parametrize("name", NOBS)
def test_columns_are_n_train_and_x_is_n(name, frame):
    axes = panels(draw(name, frame), 3, 2)
    assert [ax.get_title() for ax in axes[0]] == [r"$N_\mathrm{train}$ = 1000", r"$N_\mathrm{train}$ = 30000"]
    assert axes[0, 0].get_xscale() == "linear"
    assert list(axes[0, 0].get_xticks()) == [1, 14, 30]


@pytest.mark.parametrize("name", EXTRA)
def test_extra_tasks_have_rows_of_their_own(name):
    data = metrics(tasks=["gmm", "two_moons", "slcp"], n_obs=(1, 8), n_train=(1000, 3000), sets=3)
    axes = panels(draw(name, data), 2, 2)
    titles = [row_title(row[-1]) for row in axes]
    assert titles == ["GMM\n3 sets", "Two Moons\n3 sets"]


def test_axes_end_where_the_paper_ends_them(frame):
    mild = frame[(frame.n == 1) & (frame.method == "GAUSS")].assign(sw=0.001, mmd=0.01)
    drawn = [draw(name, mild).axes for name in NTRAIN]
    tops = [[ax.get_ylim()[1] for ax in axes] for axes in drawn]
    assert tops == [[2.0, 0.05, 0.01], [0.6, 1.5, 1.0], [1.1, 1.1, 1.1]]
    assert {ax.get_yscale() for axes in drawn for ax in axes} == {"linear"}


def test_line_is_the_mean_over_sets_and_band_its_standard_deviation(frame):
    ax = panels(draw("sbibm_mmd_vs_ntrain", frame), 3, 3)[1, 2]
    cells = frame[(frame.task == "lotka_volterra") & (frame.n == 30) & (frame.method == "JAC-clip")]
    values = cells.sort_values(["n_train", "set"]).mmd.to_numpy().reshape(2, 25)
    line = lines(ax)["JAC-clip (400)"]
    np.testing.assert_allclose(line.get_ydata(), values.mean(1))
    (band,) = [item for item in ax.collections if item.get_label() == "_JAC-clip (400)"]
    outline = band.get_paths()[0].vertices
    for budget, row in zip((1000, 30000), values, strict=True):
        at = outline[outline[:, 0] == budget, 1]
        expected = row.mean() + np.array([-1, 1]) * row.std(ddof=1)
        np.testing.assert_allclose([at.min(), at.max()], expected)


def test_exclusion_averages_over_the_kept_sets_with_the_full_mean_as_a_thin_line():
    values = np.where(np.arange(25) == 6, 1.9, 0.2)
    data = small(task="slcp").assign(n_train=lambda f: f.n_train.replace({3000: 30000}))
    data = data.assign(sw=values[data.set], mmd=values[data.set])
    figure = draw("sbibm_sw_vs_ntrain", data, exclude=True)
    (ax,) = figure.axes
    np.testing.assert_allclose(lines(ax)["GAUSS (1000)"].get_ydata(), [0.2, 0.2])
    thin = labelled(ax, f"_{legend.ALL_SETS} GAUSS (1000)")
    np.testing.assert_allclose(thin.get_ydata(), [values.mean()] * 2)
    assert ax.texts[-1].get_text() == "SLCP\n24 of 25 sets"
    assert legend.ALL_SETS in legend_labels(figure)
    (whole,) = draw("sbibm_sw_vs_ntrain", data, exclude=False).axes
    np.testing.assert_allclose(lines(whole)["GAUSS (1000)"].get_ydata(), [values.mean()] * 2)
    assert whole.texts[-1].get_text() == "SLCP\n25 sets"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_some_lost_sets_leave_a_hollow_mean_over_the_others_and_their_number(bad):
    data = small()
    here = (data.n_train == 3000) & data["set"].isin([3, 4])
    data.loc[here, "sw"] = bad
    data.loc[(data.n_train == 3000) & (data.set == 5), "sw"] = 0.43
    figure = draw("sbibm_sw_vs_ntrain", data)
    (ax,) = figure.axes
    survivors = labelled(ax, f"_{legend.INCOMPLETE_MEAN}")
    assert survivors.get_xdata().tolist() == [3000]
    np.testing.assert_allclose(survivors.get_ydata(), [(22 * 0.2 + 0.43) / 23])
    assert survivors.get_markerfacecolor() == "white"
    assert marks(ax) == [(3000, "×2")]
    assert {f"k {legend.LOST_RUNS}", legend.INCOMPLETE_MEAN} <= set(legend_labels(figure))
    (text,) = [text for text in ax.texts if text.get_text() == "×2"]
    assert to_rgba(text.get_color()) == to_rgba("tab:blue")


def test_a_cell_without_survivors_has_its_number_and_no_point():
    data = small(methods=("GAUSS", "LANGEVIN"))
    data.loc[(data.method == "LANGEVIN") & (data.n_train == 1000), "sw"] = np.nan
    (ax,) = draw("sbibm_sw_vs_ntrain", data).axes
    assert np.isnan(lines(ax)["LANGEVIN (400)"].get_ydata()).tolist() == [True, False]
    assert marks(ax) == [(1000, "×25")]
    assert not [line for line in ax.lines if line.get_label() == f"_{legend.INCOMPLETE_MEAN}"]


def test_means_beyond_the_axis_have_arrows_that_do_not_cover_each_other():
    data = small(methods=("GAUSS", "JAC-clip", "LANGEVIN", "LANGEVIN-clip"))
    high = data.method.str.startswith("LANGEVIN") & (data.n_train == 1000)
    data.loc[high, "sw"] = 5.0
    data.loc[high & (data.method == "LANGEVIN") & (data.set == 0), "sw"] = np.nan
    data.loc[(data.method == "JAC-clip") & (data.n_train == 3000), "sw"] = -1.0
    (ax,) = draw("sbibm_sw_vs_ntrain", data).axes
    assert marks(ax) == [(1000, "↑"), (1000, "↑×1"), (3000, "↓")]
    heights = sorted(text.xyann[1] for text in ax.texts if "↑" in text.get_text())
    assert np.diff(heights) >= 5.5


def test_an_axis_with_most_means_beyond_it_goes_on_logarithmically():
    data = small(value=30.0)
    figure = draw("sbibm_sw_vs_ntrain", data)
    (ax,) = figure.axes
    assert ax.get_yscale() == "symlog"
    assert ax.get_ylim()[1] == 100.0
    assert labelled(ax, f"_{legend.PAPER_AXIS_END}").get_ydata()[0] == 2.0
    assert marks(ax) == []
    assert legend.PAPER_AXIS_END in legend_labels(figure)


@pytest.mark.parametrize(
    ("task", "means", "limits", "linear"),
    [
        ("slcp", [0.1, 0.2, 3.0], (-0.1, 2.0), None),
        ("slcp", [3.0, 4.0, 0.1], (-0.1, 10.0), 2.0),
        ("slcp", [1e9, 1e9], (-0.1, 1e4), 2.0),
        ("slcp", [np.nan], (-0.1, 2.0), None),
        ("new task", [0.03, 0.013], (-0.0025, 0.05), None),
        ("new task", [np.nan], (-0.05, 1.0), None),
        ("sir", [0.02, 0.02], (-0.0005, 0.1), 0.01),
    ],
)
def test_scale_of_an_axis(task, means, limits, linear):
    scale = sbibm_panels.distance_axis(task, "sw", np.array(means))
    assert scale.limits == pytest.approx(limits)
    assert scale.linear_up_to == linear
    assert all(limits[0] <= tick <= 1.001 * limits[1] for tick in scale.ticks)
    assert len(scale.ticks) <= 5


def test_references_in_doubt_are_counted_at_their_n():
    data = metrics(tasks=["slcp"], methods={"GAUSS": 1000, "JAC-clip": 400}, n_train=(1000,))
    figure = draw("sbibm_mmd_vs_nobs", data)
    assert marks(figure.axes[0]) == [(30, "?2")]
    assert f"k {legend.DOUBTFUL_REFERENCES}" in legend_labels(figure)
    sure = draw("sbibm_mmd_vs_nobs", data.assign(reference_passed=True))
    assert marks(sure.axes[0]) == []


def test_new_methods_are_drawn_and_det_gef_has_its_figure(frame):
    data = small(methods=("GAUSS", "NEWTON", "NEWTON-clip", "DET_GEF", "DET_GEF-clip", "TAMED", "JAC"))
    name = "sbibm_c2st_vs_ntrain"
    new = drawn.declared(methods={"NEWTON": {"algorithm": "GAUSS", "steps": 40}})[name]
    (ax,) = draw(name, data, runs=new.settings.runs).axes
    assert list(lines(ax)) == ["GAUSS (1000)", "NEWTON (40)", "NEWTON-clip (40)"]
    figure = draw("det_gef_sbibm", frame)
    assert lines(figure.axes[0]).keys() == MAIN | {"DET_GEF (1000)", "DET_GEF-clip (1000)"}
    plain = draw("sbibm_sw_vs_ntrain", frame)
    for ours, theirs in zip(figure.axes, plain.axes, strict=True):
        gauss = [lines(ax)["GAUSS (1000)"].get_ydata() for ax in (ours, theirs)]
        np.testing.assert_array_equal(*gauss)


def test_a_run_is_drawn_where_it_has_cells_and_nowhere_else():
    """As when the configuration asks for one cell more: one task, one N_train."""
    data = metrics(tasks=["slcp", "sir"], n_obs=(8,), n_train=(1000, 30000))
    runs = (*drawn.DECLARED["sbibm_sw_vs_ntrain"].settings.runs, "TAMED")
    absent = (data.method == "TAMED") & ~((data.task == "slcp") & (data.n_train == 1000))
    for x, name in (("n_train", "sbibm_sw_vs_ntrain"), ("n", "sbibm_sw_vs_nobs")):
        figure = draw(name, data[~absent], runs=runs)
        holding = [ax for ax in figure.axes if "TAMED (400)" in lines(ax)]
        assert len(holding) == 1, x
        assert lines(holding[0])["TAMED (400)"].get_xdata().tolist() == [1000 if x == "n_train" else 8]
        assert all(lines(ax).keys() >= MAIN for ax in figure.axes)


def test_legend_explains_only_what_occurs():
    data = small().assign(sw=lambda frame: 0.1 + 0.001 * frame["set"])
    assert legend_labels(draw("sbibm_sw_vs_ntrain", data)) == ["GAUSS (1000)", "mean ± std, 25 sets"]
    one = draw("sbibm_sw_vs_ntrain", data[data.set == 0])
    assert legend_labels(one) == ["GAUSS (1000)", "one set, no band"]
    assert one.axes[0].texts[-1].get_text() == "SLCP\n1 set"


def test_data_without_a_task_or_method_to_show_are_refused(frame):
    with pytest.raises(ValueError, match=r"tasks = \['gaussian_linear'.*no distances"):
        draw("sbibm_extra_sw_vs_ntrain", frame)
    with pytest.raises(ValueError, match="no distances of a method to show"):
        draw("sbibm_sw_vs_ntrain", frame[frame.method == "TAMED"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("tasks", "n_obs", "budgets"), [(1, (8,), (1000,)), (6, N_OBS, N_TRAIN)])
def test_any_grid_fits(tasks, n_obs, budgets):
    methods = {"GAUSS": 1000, "LANGEVIN": 400}
    data = metrics(tasks=made_up.EXTRA[:tasks], methods=methods, n_obs=n_obs, n_train=budgets, sets=2)
    figure = draw("sbibm_extra_sw_vs_ntrain", data)
    figure.draw_without_rendering()  # the layout warns if the panels have no room
    width, height = smallest_panel(figure)
    assert width > 100
    assert height > 80


def test_figures_survive_the_csv():
    data = small(methods=("GAUSS", "LANGEVIN"))
    data.loc[data.set == 2, "sw"] = np.nan
    read = pd.read_csv(io.StringIO(data.to_csv(index=False)))
    (ours,), (theirs,) = (draw("sbibm_sw_vs_ntrain", frame).axes for frame in (data, read))
    assert marks(ours) == marks(theirs)
    for label, line in lines(ours).items():
        np.testing.assert_allclose(lines(theirs)[label].get_ydata(), line.get_ydata())


def test_same_data_give_the_same_bytes(tmp_path):
    data = small(methods=("GAUSS", "LANGEVIN"))
    first, second = (png(draw("sbibm_sw_vs_ntrain", data), tmp_path / "f.png") for _ in range(2))
    assert first == second
