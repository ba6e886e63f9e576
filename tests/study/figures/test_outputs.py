"""The two-dimensional illustration, and what holds for every figure: equal bytes and a caption."""

import numpy as np
import pytest
from drawn import caption, draw
from figure_data import PEDAGOGICAL, SETTINGS, metrics, pedagogical
from matplotlib.patches import Ellipse

from tallsbi.study.figures import pedagogical as pedagogical_figure
from tallsbi.study.figures import style

GRIDS = ("toy_sw_vs_n", "det_gef_toy", "toy_gaussian_by_dim", "toy_gaussian_by_noise", "toy_prior_width")
FIGURES = (*GRIDS, "pedagogical")


def test_pedagogical_posterior_narrows_in_a_common_window():
    samples = pedagogical()
    samples.loc[(samples.n == 64) & (samples.source == "GAUSS") & (samples["sample"] < 3), "theta_1"] = np.inf
    figure = pedagogical_figure.draw({"pedagogical": samples}, PEDAGOGICAL)
    axes = np.array(figure.axes).reshape(2, 4)
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in axes[0]}) == 1
    assert [ax.get_title() for ax in axes[0]] == ["n = 1", "n = 4", "n = 16", "n = 64\n3 samples not finite"]
    for row in axes:
        ellipses = [{p.get_label(): p for p in ax.patches if isinstance(p, Ellipse)} for ax in row]
        widths = [patches["_analytic 0.95"].width for patches in ellipses]
        assert np.all(np.diff(widths) < 0)
        assert len(ellipses[0]) == 4
    for ax in axes.flat:
        (truth,) = [line for line in ax.lines if line.get_label() == "_truth"]
        assert (truth.get_xdata()[0], truth.get_ydata()[0]) == PEDAGOGICAL.theta


def test_ellipse_holds_its_share_of_a_gaussian():
    points = np.random.default_rng(3).multivariate_normal([1, 2], [[2, 0.9], [0.9, 0.5]], size=20000)
    centre, width, height, angle = pedagogical_figure.ellipse(points, 0.5)
    turn = np.radians(angle)
    along = (points - centre) @ np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    inside = ((2 * along / [width, height]) ** 2).sum(1) < 1
    assert inside.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("fmt", ["png", "pdf", "svg"])
@pytest.mark.parametrize("name", ["toy_sw_vs_n", "pedagogical"])
def test_same_data_give_the_same_bytes(name, fmt, tmp_path, monkeypatch):
    data = {
        "metrics": metrics(noise=(0.0, 0.1), n_obs=(2, 90), dims=(10,)),
        "pedagogical": pedagogical((1, 4), 50),
    }
    dates = {"png": {"Software": "t"}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    written = []
    for time in ("0", "1000000000"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", time)
        figure = draw(name, data, PEDAGOGICAL if name == "pedagogical" else SETTINGS)
        with style.context():
            figure.savefig(tmp_path / f"f.{fmt}", metadata=dates[fmt])
        written.append((tmp_path / f"f.{fmt}").read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("name", FIGURES)
def test_caption_says_what_is_shown(name):
    text = caption(name)
    assert len(text.split()) > 60
    for word in ("seed", "standard deviation", "self-distance", "Look"):
        assert word in text.replace("distance of the reference to itself", "self-distance")
