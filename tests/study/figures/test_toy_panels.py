"""The grids of panels show what is in their data: means, bands, marks and labels."""

import io
from dataclasses import replace

import drawn
import numpy as np
import pandas as pd
import pytest
from drawn import legend_labels, lines, mark_colors, mark_texts, marks, panels, row_title
from figure_data import DIMS, N_OBS, NOISE, SETTINGS, STEPS, metrics
from matplotlib.colors import to_rgba

from tallsbi.study.figures import legend, style

GRIDS = ("toy_sw_vs_n", "det_gef_toy", "toy_gaussian_by_dim", "toy_gaussian_by_noise", "toy_prior_width")
SHAPES = dict(zip(GRIDS, [(2, 4), (2, 4), (len(DIMS), 4), (len(STEPS), len(DIMS)), (2, 4)], strict=True))
METRIC = SETTINGS.metric


@pytest.fixture(scope="module")
def frame():
    return metrics()


def draw(name, frame, **settings):
    return drawn.draw(name, {"metrics": frame}, replace(SETTINGS, **settings))


def values(frame, **where):
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame.sort_values(["n", "seed"])[METRIC].to_numpy().reshape(frame.n.nunique(), -1)


@pytest.mark.parametrize("name", GRIDS)
def test_a_panel_per_row_and_column_with_equal_axes(name, frame):
    figure = draw(name, frame)
    assert len(figure.axes) == np.prod(SHAPES[name])
    assert len({(ax.get_xlim(), ax.get_ylim(), ax.get_yscale()) for ax in figure.axes}) == 1
    axes = panels(figure, *SHAPES[name])
    variable, grid = ("m", DIMS) if name == "toy_gaussian_by_noise" else ("noise", NOISE)
    assert [ax.get_title() for ax in axes[0]] == [style.title(variable, value) for value in grid]
    assert axes[0, 0].get_xscale() == "log"
    assert list(axes[0, 0].get_xticks()) == list(N_OBS)
    if name != "toy_prior_width":
        assert axes[0, 0].get_ylim() == (-0.1, 1.0)
        assert axes[0, 0].get_yscale() == "linear"


def test_line_is_the_mean_over_seeds_and_band_its_standard_deviation(frame):
    ax = panels(draw("toy_sw_vs_n", frame), 2, 4)[1, 2]
    expected = values(frame, problem="mixture", noise=0.01, method="GAUSS")
    mean, std = expected.mean(1), expected.std(1, ddof=1)
    line = lines(ax)["GAUSS (1000)"]
    np.testing.assert_array_equal(line.get_xdata(), N_OBS)
    np.testing.assert_allclose(line.get_ydata(), mean)
    (band,) = [item for item in ax.collections if item.get_label() == "_GAUSS (1000)"]
    outline = band.get_paths()[0].vertices
    for n, low, high in zip(N_OBS, mean - std, mean + std, strict=True):
        at_n = outline[outline[:, 0] == n, 1]
        np.testing.assert_allclose([at_n.min(), at_n.max()], [low, high])


def test_rows_and_lines_are_those_of_each_figure(frame):
    labels = {f"{method} ({steps})" for method, steps in STEPS.items()}
    assert lines(draw("det_gef_toy", frame).axes[0]).keys() == labels
    for name in ("toy_sw_vs_n", "toy_gaussian_by_dim"):
        figure = draw(name, frame)
        assert lines(figure.axes[0]).keys() == labels - {"DET_GEF (1000)"}
        assert "DET_GEF (1000)" not in legend_labels(figure)
    by_noise = panels(draw("toy_gaussian_by_noise", frame), 4, 3)
    assert [row_title(row[-1]) for row in by_noise] == [f"{k} ({v})" for k, v in STEPS.items()]
    jac = lines(by_noise[1, 2])["ε = 1e-3"]
    expected = values(frame, problem="gaussian-wide", m=32, method="JAC", noise=0.001).mean(1)
    np.testing.assert_allclose(jac.get_ydata(), expected)
    by_prior = panels(draw("toy_prior_width", frame), 2, 4)
    titles = [row_title(row[-1]) for row in by_prior]
    assert titles == ["wide prior (published)\nm = 10", "N(0, I) (stated)\nm = 10"]
    for row, problem in zip(by_prior, ("gaussian-wide", "gaussian-standard"), strict=True):
        expected = values(frame, problem=problem, m=10, method="LANGEVIN", noise=0.0).mean(1)
        np.testing.assert_allclose(lines(row[0])["LANGEVIN (400)"].get_ydata(), expected)


def test_prior_and_metric_come_from_the_settings(frame):
    figure = draw("toy_sw_vs_n", frame, prior="standard", metric="sw_norm")
    expected = values(frame, problem="gaussian-standard", m=10, method="LANGEVIN", noise=0.0).mean(1) / 2
    np.testing.assert_allclose(lines(figure.axes[0])["LANGEVIN (400)"].get_ydata(), expected)
    assert figure.get_supylabel() == "sliced Wasserstein − self-distance"


def test_mean_beyond_the_axis_is_marked_in_the_colour_of_its_method(frame):
    figure = draw("toy_sw_vs_n", frame)
    mean = values(frame, problem="gaussian-wide", m=10, method="LANGEVIN", noise=0.0).mean(1)
    beyond = [(n, "↑", to_rgba("#92374D")) for n, value in zip(N_OBS, mean, strict=True) if value > 1]
    assert beyond
    assert mark_colors(figure.axes[0]) == beyond
    assert legend.ABOVE_AXIS in legend_labels(figure)
    frame = frame.assign(**{METRIC: frame[METRIC].where((frame.method != "JAC") | (frame.n != 8), -0.5)})
    assert (8, "↓", to_rgba("tab:orange")) in mark_colors(draw("toy_sw_vs_n", frame).axes[0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_lost_seed_is_counted_and_leaves_no_mean(bad):
    frame = metrics(n_obs=(2, 8), noise=(0.0,))
    here = (frame.problem == "mixture") & (frame.method == "GAUSS") & (frame.n == 8) & (frame.seed == 3)
    frame.loc[here, METRIC] = bad
    figure = draw("toy_sw_vs_n", frame)
    ax = panels(figure, 2, 1)[1, 0]
    assert mark_colors(ax) == [(8, "×1", to_rgba("tab:blue"))]
    assert np.isnan(lines(ax)["GAUSS (1000)"].get_ydata()).tolist() == [False, True]
    assert "k lost" in legend_labels(figure)


def test_marks_at_the_same_n_do_not_cover_each_other():
    frame = metrics(n_obs=(2, 8), noise=(0.0,)).assign(**{METRIC: np.nan})
    ax = draw("det_gef_toy", frame).axes[0]
    heights = sorted(text.xyann[1] for text in mark_texts(ax) if text.xy[0] == 8)
    assert len(heights) == len(STEPS)
    assert min(np.diff(heights)) >= 5.5


def test_legend_explains_only_what_occurs():
    frame = metrics(noise=(0.0,), n_obs=(2, 8), methods={"GAUSS": 1000})
    frame[METRIC] = 0.1 + 0.01 * frame.seed
    assert legend_labels(draw("toy_sw_vs_n", frame)) == ["GAUSS (1000)", "mean ± std, 5 seeds"]
    figure = draw("toy_sw_vs_n", frame.assign(reference_passed=frame.seed > 0))
    assert legend_labels(figure)[-1] == f"k {legend.DOUBTFUL_REFERENCES}"
    assert marks(figure.axes[0]) == [(2, "?1"), (8, "?1")]


def test_new_methods_and_clipped_ones_are_drawn():
    steps = {"GAUSS": 1000, "GAUSS-clip": 1000, "NEWTON": 40}
    figure = draw("toy_sw_vs_n", metrics(methods=steps, noise=(0.0,)))
    drawn = lines(figure.axes[0])
    assert list(drawn) == ["GAUSS (1000)", "GAUSS-clip (1000)", "NEWTON (40)"]
    assert drawn["GAUSS-clip (1000)"].get_color() == drawn["GAUSS (1000)"].get_color()
    assert drawn["GAUSS-clip (1000)"].get_linestyle() == "--"
    assert drawn["NEWTON (40)"].get_color() not in {look.color for look in style.METHODS.values()}
    assert style.method_look("NEWTON") == style.method_look("NEWTON") != style.method_look("EULER")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (6, 7), (2, 5)])
def test_any_grid_fits(rows, columns):
    frame = metrics(dims=range(2, 2 + rows), noise=np.linspace(0, 0.1, columns), n_obs=(2, 90), seeds=2)
    frame = frame[(frame.method != "JAC") | (frame.noise == 0)]
    figure = draw("toy_gaussian_by_dim", frame)
    assert len(figure.axes) == rows * columns
    figure.draw_without_rendering()  # the layout warns if the panels have no room
    assert min(ax.get_window_extent().width for ax in figure.axes) > 100


def test_single_seed_and_single_n():
    figure = draw("det_gef_toy", metrics(seeds=1, n_obs=(8,), noise=(0.0,)))
    assert not figure.axes[0].collections
    assert "one seed, no band" in legend_labels(figure)
    assert [text.get_text() for text in figure.axes[1].get_xticklabels()] == ["8"]


def test_data_without_the_problem_are_refused(frame):
    with pytest.raises(ValueError, match="no distances to draw"):
        draw("toy_prior_width", frame[frame.problem == "mixture"])


def test_mixture_is_shown_at_its_own_dimension(frame):
    figure = draw("toy_sw_vs_n", frame, dim=32)
    titles = [row_title(row[-1]) for row in panels(figure, 2, 4)]
    assert titles == ["Gaussian, wide prior\nm = 32", "Gaussian mixture\nm = 10"]


def test_noise_levels_have_their_names():
    assert [style.noise_label(level) for level in (0, 0.001, 0.025, 0.1)] == ["0", "1e-3", "2.5e-2", "1e-1"]


def test_figures_survive_the_csv(frame):
    read = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    for ours, theirs in zip(draw("toy_sw_vs_n", frame).axes, draw("toy_sw_vs_n", read).axes, strict=True):
        for label, line in lines(ours).items():
            np.testing.assert_allclose(lines(theirs)[label].get_ydata(), line.get_ydata())
