"""The figure of many observations shows its data: relative errors, times, memory and what is lost."""

from dataclasses import replace

import cost_data
import numpy as np
import pytest
from drawn import caption, labelled, legend_labels, lines, marks, panels, smallest_panel
from sbibm_data import LABELS

from tallsbi.study.figures import legend, many_observations
from tallsbi.study.settings.artifacts import TaskRows

SETTINGS = TaskRows(tasks=("gaussian_linear", "sir"), labels=LABELS)
LABELLED = ["GAUSS (400)", "GAUSS_PD (50)", "DET_GEF (400)", "LANGEVIN (400)"]


def draw(frame, **settings):
    return many_observations.draw({"many": frame}, replace(SETTINGS, **settings))


@pytest.fixture(scope="module")
def frame():
    return cost_data.many(sets=3)


def test_rows_are_tasks_and_columns_error_time_and_memory(frame):
    figure = draw(frame)
    axes = panels(figure, -1, 3)
    assert [ax.get_title() for ax in axes[0]] == list(many_observations.COLUMNS.values())
    assert [row[-1].texts[-1].get_text() for row in axes] == ["Gaussian linear\n3 sets", "SIR\n3 sets"]
    assert all((ax.get_xscale(), ax.get_yscale()) == ("log", "log") for ax in axes.flat)
    assert all(list(lines(ax)) == LABELLED for ax in axes.flat)
    assert [text.get_text() for text in axes[1, 0].get_xticklabels()] == ["1", "10", "100", "1k"]


def test_points_are_means_over_sets(frame):
    axes = panels(draw(frame), -1, 3)
    cells = frame[(frame.task == "sir") & (frame.method == "GAUSS")].groupby("n")
    for ax, column in zip(axes[1], many_observations.COLUMNS, strict=True):
        line = lines(ax)["GAUSS (400)"]
        np.testing.assert_allclose(line.get_xdata(), [1, 10, 100, 1000])
        np.testing.assert_allclose(line.get_ydata(), cells[column].mean())


def test_self_distance_and_growth_in_proportion_to_n_are_drawn_where_they_belong(frame):
    for error, seconds, memory in panels(draw(frame), -1, 3):
        np.testing.assert_allclose(labelled(error, "_self").get_ydata(), 0.06)
        for ax in (seconds, memory):
            guide = labelled(ax, "_growth")
            np.testing.assert_allclose(guide.get_ydata() / guide.get_xdata(), guide.get_ydata()[0])
        assert "_growth" not in [line.get_label() for line in error.lines]


def test_divergence_is_marked_at_errors_only_and_costs_stay(frame):
    error, seconds, memory = panels(draw(frame), -1, 3)[0]
    assert (1000, "×3") in marks(error)
    assert marks(seconds) == marks(memory) == []
    assert np.isnan(lines(error)["LANGEVIN (400)"].get_ydata()[-1])
    assert np.isfinite(lines(seconds)["LANGEVIN (400)"].get_ydata()).all()


def test_errors_beyond_three_decades_are_arrows():
    data = cost_data.many(tasks=["sir"])
    data.loc[(data.method == "DET_GEF") & (data.n == 100), "error"] = 1e20
    ax = panels(draw(data), -1, 3)[0, 0]
    assert (100, "↑") in marks(ax)
    assert ax.get_ylim()[1] < 1000 * ax.get_ylim()[0] * 2


def test_memory_that_was_not_measured_is_said_to_be_so(frame):
    ax = panels(draw(frame.assign(memory=np.nan)), -1, 3)[0, 2]
    assert many_observations.NOT_MEASURED in [text.get_text() for text in ax.texts]
    assert many_observations.NOT_MEASURED not in [
        text.get_text() for panel in draw(frame).axes for text in panel.texts
    ]


def test_references_in_doubt_are_counted_per_n(frame):
    data = frame.copy()
    data.loc[(data.n == 100) & (data.set == 1), "reference_passed"] = False
    figure = draw(data)
    assert (100, "?1") in marks(panels(figure, -1, 3)[0, 0])
    assert f"k {legend.DOUBTFUL_REFERENCES}" in legend_labels(figure)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_obs", [(10,), (1, 10, 100), (1, 3, 10, 30, 100, 300, 1000)])
@pytest.mark.parametrize("sets", [1, 5])
def test_any_size_fits(n_obs, sets):
    figure = draw(cost_data.many(n_obs=n_obs, sets=sets))
    figure.canvas.draw()  # the layout warns if the panels have no room
    width, height = smallest_panel(figure)
    assert width > 120
    assert height > 80


def test_data_without_a_task_to_show_are_refused(frame):
    with pytest.raises(ValueError, match="no errors"):
        draw(frame, tasks=("gmm",))


def test_caption_says_what_is_shown():
    text = caption("many_observations")
    for word in ("spread", "seconds", "peak memory", "MiB", "not measured", "lost", "Look"):
        assert word in text
