"""The figure of partial factorisation shows every method, n_max and encoder, and what is lost."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import legend_labels, lines, mark_texts, marks, panels, smallest_panel
from matplotlib.colors import to_rgb, to_rgba
from sbibm_data import LABELS, SETTINGS, TASKS, metrics

from tallsbi.study.figures import legend, partial, style

METHODS = {"GAUSS": 1000, "LANGEVIN": 400}
GAIN = {"none": 1.0, "mean": 0.9, "deep_set": 0.7}


def made_up(n_max=(1, 3, 6, 30), n_train=(1000, 3000, 10000, 30000), sets=25, n=30, tasks=TASKS):
    """Distances that fall with n_max, more for deep sets; LANGEVIN diverges on two sets."""
    parts = []
    for i, size in enumerate(n_max):
        for encoder in ("none",) if size == 1 else ("mean", "deep_set"):
            part = metrics(tasks=tasks, methods=METHODS, n_obs=(n,), n_train=n_train, sets=sets, seed=i)
            part[["sw", "mmd"]] *= GAIN[encoder] * 0.7**i
            parts.append(part.assign(n_max=size, encoder=encoder))
    return pd.concat(parts, ignore_index=True)


def draw(frame, every=None, **settings):
    every = frame[frame.n_max == 1] if every is None else every
    return partial.draw({"partial": frame, "metrics": every}, replace(SETTINGS, **settings))


@pytest.fixture(scope="module")
def frame():
    return made_up()


def test_rows_are_metrics_columns_tasks_and_lines_methods_n_max_and_encoders(frame):
    figure = draw(frame)
    axes = panels(figure, 3, 3)
    assert [ax.get_title() for ax in axes[0]] == [f"{LABELS[task]}, n = 30\n25 sets" for task in TASKS]
    labels = ["sliced Wasserstein\n(sW)", "MMD²\n(unbiased)", "C2ST\n(0.5: indistinguishable)"]
    assert [ax.get_ylabel() for ax in axes[:, 0]] == labels
    assert all(ax.get_xscale() == "log" for ax in axes.flat)
    expected = [
        f"{method} {kind}"
        for method in METHODS
        for kind in ("1", "3 mean", "3 deep set", "6 mean", "6 deep set", "30 mean", "30 deep set")
    ]
    assert [list(lines(ax)) for ax in axes.flat] == [expected] * 9
    assert legend_labels(figure)[:14] == expected


def test_lines_are_means_over_sets_and_bars_standard_deviations(frame):
    figure = draw(frame)
    ax = panels(figure, 3, 3)[1, 2]
    chosen = {"task": "sir", "method": "GAUSS", "n_max": 6, "encoder": "deep_set"}
    cells = frame[np.logical_and.reduce([frame[key] == value for key, value in chosen.items()])]
    values = cells.sort_values(["n_train", "set"]).mmd.to_numpy().reshape(4, 25)
    line = lines(ax)["GAUSS 6 deep set"]
    np.testing.assert_allclose(line.get_ydata(), values.mean(1))
    # Side by side: all lines at places of their own, within half of the way to the next N_train.
    np.testing.assert_array_equal(line.get_xdata(), [1000, 3000, 10000, 30000])
    figure.draw_without_rendering()
    places = [line.get_transform().transform((1000, 0.5))[0] for line in lines(ax).values()]
    assert len(set(places)) == 14
    here, following = (ax.transData.transform((budget, 0.5))[0] for budget in (1000, 3000))
    assert max(abs(place - here) for place in places) < (following - here) / 2
    heights = [np.array(part.get_segments())[:, :, 1] for part in ax.collections]
    spread = 2 * values.std(1, ddof=1)
    assert any(np.allclose(ends[:, 1] - ends[:, 0], spread) for ends in heights)


def test_colour_is_the_method_shade_n_max_and_line_style_the_encoder(frame):
    drawn = lines(panels(draw(frame), 3, 3)[0, 0])
    for method in METHODS:
        single = drawn[f"{method} 1"]
        assert to_rgba(single.get_color()) == to_rgba(style.METHODS[method].color)
        shades = [sum(to_rgb(drawn[f"{method} {size} mean"].get_color())) for size in (3, 6, 30)]
        assert shades == sorted(shades)
        for size in (3, 6, 30):
            mean, deep = drawn[f"{method} {size} mean"], drawn[f"{method} {size} deep set"]
            assert mean.get_color() == deep.get_color()
            assert (mean.get_linestyle(), deep.get_linestyle()) == ("-", "--")
    blue, red = (to_rgb(drawn[f"{method} 6 mean"].get_color()) for method in METHODS)
    assert blue[2] > blue[0]
    assert red[0] > red[2]


def test_lost_sets_are_counted_above_the_panel_in_the_colour_of_their_line():
    data = made_up(n_max=(1, 3), n_train=(500, 2000), sets=5, n=8, tasks=["sir"])
    data[["sw", "mmd"]] = 0.001
    here = (data.method == "LANGEVIN") & (data.n_max == 3) & (data.encoder == "mean") & (data.n_train == 2000)
    data.loc[here & (data.set == 0), "sw"] = np.nan
    data.loc[(data.method == "LANGEVIN") & (data.n_max == 1), "sw"] = np.inf
    data.loc[(data.method == "GAUSS") & (data.n_max == 1) & (data.n_train == 500), "sw"] = 7.0
    figure = draw(data)
    ax = panels(figure, 3, 1)[0, 0]
    assert marks(ax) == [(500, "×5"), (500, "↑"), (2000, "×1"), (2000, "×5")]
    heights = sorted(text.xyann[1] for text in mark_texts(ax) if text.xy[0] == 500)
    assert np.diff(heights) >= 5.5
    (text,) = [text for text in ax.texts if text.get_text() == "×1"]
    assert text.get_color() == lines(ax)["LANGEVIN 3 mean"].get_color()
    hollow = [line for line in ax.lines if line.get_label() == f"_{legend.INCOMPLETE_MEAN}"]
    assert len(hollow) == 1
    assert {f"k {legend.LOST_RUNS}", legend.INCOMPLETE_MEAN, legend.ABOVE_AXIS} <= set(legend_labels(figure))
    assert marks(panels(figure, 3, 1)[1, 0]) == []


def test_exclusion_is_the_rule_of_the_whole_part(frame):
    every = metrics(methods=METHODS)
    figure = draw(frame, every, exclude=True)
    title = panels(figure, 3, 3)[0, 0].get_title()
    assert "of 25 sets" in title
    assert legend.ALL_SETS in legend_labels(figure)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("budgets", [(1000,), (500, 2000), (1000, 3000, 10000, 30000)])
def test_any_number_of_budgets_fits(budgets):
    figure = draw(made_up(n_max=(1, 3), n_train=budgets, sets=2, n=8))
    figure.canvas.draw()  # the layout warns if the panels have no room
    width, height = smallest_panel(figure)
    assert width > 100
    assert height > 80


def test_data_without_a_task_to_show_are_refused(frame):
    with pytest.raises(ValueError, match="no distances with groups"):
        draw(frame, tasks=("gmm",))
