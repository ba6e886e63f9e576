"""The figure of accuracy against steps and time shows its data: means, times, axes, divergence and doubt."""

from dataclasses import replace

import cost_data
import numpy as np
import pytest
from drawn import caption, legend_labels, lines, marks, panels, smallest_panel
from matplotlib.colors import to_rgba
from sbibm_data import LABELS

from tallsbi.study.figures import legend, steps_vs_accuracy, style
from tallsbi.study.settings.artifacts import TaskRows

SETTINGS = TaskRows(tasks=tuple(cost_data.SIZE), labels=LABELS)


def draw(frame, **settings):
    return steps_vs_accuracy.draw({"steps": frame}, replace(SETTINGS, **settings))


def levels(ax):
    return [line.get_ydata()[0] for line in ax.lines if line.get_label() == "_level"]


def small(value=1.0, methods=("GAUSS", "JAC"), **columns):
    chosen = {name: cost_data.METHODS[name] for name in methods}
    frame = cost_data.steps(tasks=["sir"], methods=chosen, grid=(10, 100), n_obs=(8,), sets=4)
    return frame.assign(sw=value, lost_share=0.0, **columns)


@pytest.fixture(scope="module")
def frame():
    return cost_data.steps()


def test_rows_are_tasks_and_every_n_has_two_panels(frame):
    figure = draw(frame)
    axes = panels(figure, -1, 4)
    assert axes.shape == (3, 4)
    assert [ax.get_title() for ax in axes[0]] == ["n = 8", "n = 8", "n = 30", "n = 30"]
    assert [ax.get_xlabel() for ax in axes[-1]] == ["time steps T", "seconds per posterior"] * 2
    titles = [row[-1].texts[-1].get_text() for row in axes]
    assert titles == [f"{LABELS[task]}\n3 sets" for task in cost_data.SIZE]
    assert all((ax.get_xscale(), ax.get_yscale()) == ("log", "log") for ax in axes.flat)
    assert all(list(lines(ax)) == list(cost_data.METHODS) for ax in axes.flat)
    for row in axes:
        assert len({ax.get_ylim() for ax in row}) == 1
    labels = legend_labels(figure)
    assert labels[:7] == list(cost_data.METHODS)
    assert {"GAUSS, T = 1000", steps_vs_accuracy.SELF_LABEL, f"k {legend.LOST_RUNS}"} <= set(labels)


def test_points_are_means_over_sets_at_their_steps_and_mean_seconds(frame):
    axes = panels(draw(frame), -1, 4)
    cells = frame[(frame.task == "sir") & (frame.n == 30) & (frame.method == "GAUSS_PD")].groupby("steps")
    by_steps, by_seconds = (lines(axes[2, column])["GAUSS_PD"] for column in (2, 3))
    np.testing.assert_allclose(by_steps.get_xdata(), cost_data.GRID)
    np.testing.assert_allclose(by_seconds.get_xdata(), cells.seconds.mean())
    for line in (by_steps, by_seconds):
        np.testing.assert_allclose(line.get_ydata(), cells.sw.mean())
        assert to_rgba(line.get_color()) == to_rgba(style.method_look("GAUSS_PD").color)


def test_gauss_with_the_most_steps_and_the_self_distance_are_levels(frame):
    axes = panels(draw(frame), -1, 4)
    part = frame[(frame.task == "slcp") & (frame.n == 8)]
    gauss = part[(part.method == "GAUSS") & (part.steps == 1000)].sw.mean()
    for ax in axes[0, :2]:
        np.testing.assert_allclose(levels(ax), [gauss, 0.1])
    ax = panels(draw(small(value=0.3, sw_self=np.nan)), -1, 2)[0, 0]
    np.testing.assert_allclose(levels(ax), [0.3])


def test_lost_sets_are_counted_and_survivors_hollow():
    data = small(value=0.1)
    here = (data.method == "JAC") & (data.steps == 10)
    data.loc[here & (data.set < 3), ["sw", "lost_share"]] = np.nan, 0.5
    figure = draw(data)
    seconds = data.seconds[here].mean()
    for ax, place in zip(panels(figure, -1, 2)[0], (10.0, seconds), strict=True):
        assert marks(ax) == [(pytest.approx(place), "×3")]
        (hollow,) = [line for line in ax.lines if line.get_label() == f"_{legend.INCOMPLETE_MEAN}"]
        assert hollow.get_xdata() == [pytest.approx(place)]
        (text,) = [text for text in ax.texts if text.get_text() == "×3"]
        assert text.get_color() == style.method_look("JAC").edge_color


def test_a_huge_distance_is_an_arrow_and_leaves_the_axis_to_the_others():
    data = small(value=0.1)
    data.loc[(data.method == "JAC") & (data.steps == 100), "sw"] = 1e75
    ax = panels(draw(data), -1, 2)[0, 0]
    assert marks(ax) == [(100.0, "↑")]
    assert ax.get_ylim()[1] < 1


def test_marks_at_one_place_stand_above_each_other():
    data = small(value=np.nan, methods=("GAUSS", "JAC", "TAMED")).assign(lost_share=1.0)
    ax = panels(draw(data), -1, 2)[0, 0]
    heights = sorted(text.xyann[1] for text in ax.texts if text.xy[0] == 10)
    assert len(heights) == 3
    assert min(np.diff(heights)) >= 5.5


def test_references_in_doubt_are_counted():
    data = small(value=0.1)
    data.loc[data.set < 2, "reference_passed"] = False
    figure = draw(data)
    assert all([text for _, text in marks(ax)] == ["?2"] for ax in panels(figure, -1, 2)[0])
    assert f"k {legend.DOUBTFUL_REFERENCES}" in legend_labels(figure)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("tasks", "n_obs", "sets"), [(1, (8,), 1), (3, (8, 30), 3)])
def test_any_size_fits(tasks, n_obs, sets):
    figure = draw(cost_data.steps(tasks=list(cost_data.SIZE)[:tasks], n_obs=n_obs, sets=sets))
    figure.canvas.draw()  # the layout warns if the panels have no room
    width, height = smallest_panel(figure)
    assert width > 80
    assert height > 60


def test_data_without_a_task_to_show_are_refused(frame):
    with pytest.raises(ValueError, match="no distances"):
        draw(frame, tasks=("gmm",))


def test_caption_says_what_is_shown():
    text = caption("steps_vs_accuracy")
    for word in ("Sliced Wasserstein", "time steps", "seconds", "standard deviation", "lost", "Look"):
        assert word in text
