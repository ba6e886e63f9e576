"""What a figure says of itself: a run too small for its subject, unequal effort, lines that leave the axis."""

import numpy as np
import pytest
from drawn import draw as draw_artifact
from drawn import legend_labels, lines, marks
from sbibm_data import SETTINGS, metrics

from tallsbi.study.figures import legend, panels
from tallsbi.study.figures.limits import shortfall


def small(methods=("LANGEVIN", "TAMED"), **columns):
    frame = metrics(["sir"], dict.fromkeys(methods, 400), n_obs=(8,), n_train=(1000, 3000, 10000), sets=3)
    return frame.assign(lost_share=0.0, sw=0.002, mmd=0.1, c2st=0.7, **columns)


def draw(name, frame):
    return draw_artifact(name, {"metrics": frame}, SETTINGS)


def warning(figure):
    return figure.get_suptitle()


def test_a_run_of_the_papers_sizes_has_no_warning():
    assert warning(draw("langevin_tamed", small())) == ""
    assert shortfall(small(), "samples", "steps") == ""


@pytest.mark.parametrize("name", ["langevin_tamed", "sbibm_sw_vs_ntrain", "sbibm_c2st_vs_ntrain"])
def test_few_draws_and_few_steps_are_said_in_the_picture(name):
    frame = small(("GAUSS", "LANGEVIN")).assign(samples=60, steps=30)
    assert warning(draw(name, frame)) == (
        "too small a run for this figure: 60 draws per posterior (500 are needed), 30 time steps (400 are needed)"
    )


def test_the_largest_run_decides():
    frame = small().assign(steps=lambda f: np.where(f.method == "TAMED", 20, 400))
    assert shortfall(frame, "samples", "steps") == ""


def test_langevin_and_tamed_say_so_if_their_effort_differs():
    frame = small()
    fewer = frame.assign(score_evaluations=np.where(frame.method == "TAMED", 500, 2000))
    assert warning(draw("langevin_tamed", fewer)) == (
        "unequal evaluations of the score: LANGEVIN 2000, TAMED 500"
    )
    assert warning(draw("sbibm_sw_vs_ntrain", fewer)) == ""


def test_a_line_is_broken_where_it_leaves_the_axis():
    frame = small(("GAUSS",))
    frame.loc[frame.n_train == 3000, "sw"] = 0.5
    (ax,) = draw("sbibm_sw_vs_ntrain", frame).axes
    (line,) = lines(ax).values()
    np.testing.assert_allclose(line.get_ydata(), [0.002, np.nan, 0.002])
    assert marks(ax) == [(3000, "↑")]
    low, high = ax.get_ylim()
    drawn = np.concatenate([line.get_ydata() for line in ax.lines])
    assert ((drawn >= low) & (drawn <= high) | np.isnan(drawn)).all()


def test_invalid_comparisons_are_counted_and_not_averaged():
    frame = small(("GAUSS",))
    frame["c2st_valid"] = frame.set > 0
    frame.loc[frame.set == 0, "c2st"] = 0.5
    figure = draw("sbibm_c2st_vs_ntrain", frame)
    (ax,) = figure.axes
    (line,) = lines(ax).values()
    np.testing.assert_allclose(line.get_ydata(), 0.7)
    assert marks(ax) == [(1000, "∅1"), (3000, "∅1"), (10000, "∅1")]
    assert f"k {legend.INVALID_COMPARISONS}" in legend_labels(figure)


def test_a_panel_without_a_valid_comparison_says_so():
    (ax,) = draw("sbibm_c2st_vs_ntrain", small(("GAUSS",)).assign(c2st_valid=False)).axes
    assert panels.NO_VALID_COMPARISON in [text.get_text() for text in ax.texts]
    assert not lines(ax)
    (other,) = draw("sbibm_sw_vs_ntrain", small(("GAUSS",)).assign(c2st_valid=False)).axes
    assert len(lines(other)) == 1
