"""The local classifier two-sample tests of the Jansen-Rit model: the figures show what is in their data."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from drawn import legend_labels, lines, mark_colors, marks
from jrnmm_data import settings
from matplotlib.colors import to_rgba

from tallsbi.study.figures import jrnmm_lc2st, legend, style

N_OBS = (1, 8, 14, 22, 30)
METHODS = [f"{name}{suffix}" for name in ("GAUSS", "JAC", "LANGEVIN", "DET_GEF") for suffix in ("", "-clip")]


def lc2st(n_obs=N_OBS, classifiers=5, seed=4):
    """Tests: GAUSS passes, LANGEVIN fails with n, DET_GEF has nothing to test, and JAC-clip lost draws."""
    rng = np.random.default_rng(seed)
    rows = []
    for dim, method, n, classifier in product((3, 4), METHODS, n_obs, range(classifiers)):
        base = method.removesuffix("-clip")
        lost = method in ("DET_GEF", "JAC")
        bad = base == "LANGEVIN" and n >= 14
        row = {"dim": dim, "method": method, "n": n, "classifier": classifier, "permutations": 100}
        statistic = (0.04 if bad else 0.008 + 0.0003 * n) * np.exp(0.2 * rng.normal())
        share = 0.0 if lost else 0.9 if method == "JAC-clip" and n >= 22 else 1.0
        tested = {
            "statistic": statistic,
            "p_value": 0.0 if bad else float(np.clip(0.5 + 0.2 * rng.normal(), 0, 1)),
            "null_mean": 0.009 + 0.0003 * n,
            "null_q95": 0.014 + 0.0004 * n,
        }
        tested = dict.fromkeys(tested, np.nan) if lost else tested
        rows.append({**row, **tested, "calibration": round(10000 * share), "lost_share": 1 - share})
    return pd.DataFrame(rows)


def draw(frame, dim=3):
    return jrnmm_lc2st.draw({"lc2st": frame}, settings(dim))


def marked(ax, state):
    of_state = [line for line in ax.lines if line.get_label() == f"_{state}"]
    return sorted((int(n), to_rgba(line.get_color())) for line in of_state for n in line.get_xdata())


@pytest.mark.parametrize("dim", [3, 4])
def test_lines_are_means_and_bands_standard_deviations_over_classifiers(dim):
    frame = lc2st()
    figure = draw(frame, dim)
    for ax, column in zip(figure.axes, ("statistic", "p_value"), strict=True):
        assert set(lines(ax)) == set(METHODS) - {"JAC"}
        rows = frame[(frame.dim == dim) & (frame.method == "GAUSS-clip")]
        values = rows.sort_values(["n", "classifier"])[column].to_numpy().reshape(len(N_OBS), 5)
        np.testing.assert_allclose(lines(ax)["GAUSS-clip"].get_ydata(), values.mean(1))
        (band,) = [item for item in ax.collections if item.get_label() == "_GAUSS-clip"]
        outline = band.get_paths()[0].vertices
        for n, row in zip(N_OBS, values, strict=True):
            at = outline[outline[:, 0] == n, 1]
            np.testing.assert_allclose([at.min(), at.max()], row.mean() + np.array([-1, 1]) * row.std(ddof=1))


def test_null_is_that_of_the_median_method():
    frame = lc2st((1, 8))
    frame.loc[frame.method == "GAUSS", ["null_mean", "null_q95"]] = 0.2
    left, right = draw(frame).axes
    (line,) = [line for line in left.lines if line.get_label() == "_null mean"]
    np.testing.assert_allclose(line.get_ydata(), [0.0093, 0.0114])
    (area,) = [item for item in left.collections if item.get_label() == "_null"]
    heights = area.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.0093, 0.0172))
    (level,) = [line for line in right.lines if line.get_label() == "_level"]
    assert (level.get_ydata()[0], level.get_linestyle()) == (0.05, "--")


def test_a_method_without_a_test_is_marked_and_named():
    figure = draw(lc2st())
    color = to_rgba(style.method_look("DET_GEF").edge_color)
    for ax in figure.axes:
        assert mark_colors(ax) == [(n, "×5", color) for n in N_OBS]
        assert [text.get_text() for text in ax.texts if "every" in text.get_text()] == [
            "lost at every n:\nDET_GEF"
        ]
    assert f"k {legend.LOST_RUNS}" in legend_labels(figure)


def test_left_out_draws_make_a_hollow_symbol():
    figure = draw(lc2st())
    orange = to_rgba("tab:orange")
    for ax in figure.axes:
        assert marked(ax, legend.INCOMPLETE_MEAN) == [(22, orange), (30, orange)]
    assert legend.INCOMPLETE_MEAN in legend_labels(figure)
    assert "9000 to 10000 calibration pairs" in figure.legends[0].get_title().get_text()
    plain = draw(lc2st().assign(lost_share=0.0))
    assert legend.INCOMPLETE_MEAN not in legend_labels(plain)


def test_statistic_has_a_close_axis_that_never_passes_its_maximum():
    frame = lc2st((1, 8))
    assert draw(frame).axes[0].get_yticks()[-1] < 0.03
    high = frame.assign(
        statistic=frame.statistic.where(frame.statistic.isna(), 0.24 + 0.002 * frame.classifier)
    )
    assert draw(high).axes[0].get_yticks()[-1] == jrnmm_lc2st.MAX_STATISTIC
    assert not [text for _, text in marks(draw(high).axes[0]) if "↑" in text]
    p_values = draw(frame).axes[1]
    assert (p_values.get_ylim()[0] < 0, p_values.get_ylim()[1] > 1) == (True, True)


def test_equal_results_with_and_without_clipping_are_both_seen():
    frame = lc2st((1, 8))
    same = frame[frame.method == "LANGEVIN"]
    figure = draw(pd.concat([same, same.assign(method="LANGEVIN-clip")]))
    figure.draw_without_rendering()
    plain, clipped = (lines(figure.axes[0])[name] for name in ("LANGEVIN", "LANGEVIN-clip"))
    np.testing.assert_array_equal(plain.get_xydata(), clipped.get_xydata())
    offset = clipped.get_transform().transform((1, 0)) - plain.get_transform().transform((1, 0))
    assert offset[0] > 1
    assert offset[1] == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("n_obs", "classifiers"), [((1, 4), 2), ((8,), 1), (N_OBS, 5)])
def test_any_grid_fits(n_obs, classifiers):
    figure = draw(lc2st(n_obs, classifiers))
    with style.context():
        figure.draw_without_rendering()  # the layout warns if the panels have no room
    assert min(ax.get_window_extent().height for ax in figure.axes) > 150
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.canvas.get_width_height()[0]
    spread = f"mean ± std, {classifiers} classifiers" if classifiers > 1 else "one classifier, no band"
    assert spread in legend_labels(figure)


def test_nothing_tested_at_all_still_gives_a_figure_that_says_so():
    frame = lc2st((1, 8)).assign(statistic=np.nan, p_value=np.nan, null_mean=np.nan, null_q95=np.nan)
    figure = draw(frame)
    assert max(text.get_text().count("\n") for text in figure.axes[0].texts) == len(METHODS) - 1
    assert "null, mean" not in legend_labels(figure)


def test_results_of_the_other_setting_are_refused():
    frame = lc2st((1,))
    with pytest.raises(ValueError, match=r"dim = 4: no l-C2ST results .*have dim \[3\]"):
        draw(frame[frame.dim == 3], 4)
