"""Losses, distances and posteriors of the Jansen-Rit model: the figures show what is in their data."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import caption, draw, labelled, legend_labels, lines, marks, png
from jrnmm_data import BOUNDS, LOSS_SETTINGS, METHODS, N_OBS, STEPS, THETA, dirac, draws, losses, settings

from tallsbi.study.figures import density, jrnmm, style
from tallsbi.study.figures.legend import PAPER_AXIS_END
from tallsbi.study.settings.base import SettingsError


@pytest.fixture(scope="module")
def small():
    """Draws of both settings, few of each."""
    return {dim: draws(dim, (1, 8, 30), 60, 4) for dim in (3, 4)}


def draw_distances(dim, frame, clouds):
    return draw(f"jrnmm_{dim}d", {"dirac": frame, "draws": clouds}, settings(dim))


def test_losses_have_a_panel_per_setting():
    frame = losses(epochs=100)
    figure = draw("jrnmm_losses", {"losses": frame}, LOSS_SETTINGS)
    assert [ax.texts[-1].get_text() for ax in figure.axes] == ["3-D", "4-D"]
    for task, ax in zip(("3d", "4d"), figure.axes, strict=True):
        rows = frame[(frame.task == task) & (frame.learning_rate == 0.001) & frame.val_loss.notna()]
        curve = labelled(ax, "_val_loss 0.001")
        np.testing.assert_allclose(curve.get_ydata(), rows.val_loss)
        assert curve.get_color() == "tab:orange"
        assert "lost" not in [text.get_text() for text in ax.texts]
    with pytest.raises(ValueError, match=r"batch_size = \[64, 256\].*one batch size"):
        draw("jrnmm_losses", {"losses": pd.concat([frame, frame.assign(batch_size=64)])}, LOSS_SETTINGS)


@pytest.mark.parametrize("dim", [3, 4])
def test_distances_are_the_averages_over_parameters_of_all_methods_but_jac(dim, small):
    frame = dirac((1, 8, 30))
    figure = draw_distances(dim, frame, small[dim])
    rows = frame[(frame.dim == dim) & (frame.parameter == "all")]
    for ax, column in zip(figure.axes[:2], ("published", "mmd"), strict=True):
        shown = lines(ax)
        assert set(shown) == {
            f"{name} ({STEPS[name.removesuffix('-clip')]})" for name in METHODS if name != "JAC"
        }
        for method in ("GAUSS", "DET_GEF", "JAC-clip"):
            line = shown[f"{method} ({STEPS[method.removesuffix('-clip')]})"]
            assert line.get_xdata().tolist() == [1, 8, 30]
            np.testing.assert_allclose(line.get_ydata(), rows[rows.method == method][column])
        assert [(n, text) for n, text in marks(ax) if "×" in text] == [(8, "×"), (30, "×")]
        assert ax.get_xlabel() == ("" if dim == 4 and column == "published" else "observations n")
    assert "lost" in legend_labels(figure)
    title = figure.legends[0].get_title().get_text()
    assert ("$g$ = 0" in title) == (dim == 4)
    assert "1000 draws per posterior" in title


def test_a_method_that_never_has_a_value_is_named(small):
    frame = dirac((1, 8, 30))
    frame.loc[frame.method == "LANGEVIN", ["published", "mmd"]] = np.nan
    for ax in draw_distances(3, frame, small[3]).axes[:2]:
        assert "lost at every n:\nLANGEVIN (400)" in [text.get_text() for text in ax.texts]


def test_published_axis_of_4d_is_the_papers_unless_most_values_are_beyond_it(small):
    frame = dirac((1, 8, 30))
    frame["published"] = 500.0
    frame.loc[(frame.method == "LANGEVIN") & (frame.n == 30), "published"] = 1e5
    figure = draw_distances(4, frame, small[4])
    assert figure.axes[0].get_yticks()[-1] == 600
    assert (30, "↑") in marks(figure.axes[0])
    high = draw_distances(4, frame.assign(published=frame.published + 1000), small[4])
    assert high.axes[0].get_yticks()[-1] == 1600
    assert labelled(high.axes[0], f"_{PAPER_AXIS_END}").get_ydata()[0] == 600
    assert (30, "↑") in marks(high.axes[0])
    assert PAPER_AXIS_END in legend_labels(high)


@pytest.mark.parametrize(
    ("values", "end", "top"),
    [
        ([1.0, 2.9], None, 3.0),
        ([0.011, 0.012], None, 0.012),
        ([1.0, 1.0, 1e6], None, 1.0),
        ([10.0, 20.0], 600.0, 600.0),
        ([700.0, 20.0], 600.0, 600.0),
        ([700.0, 701.0, 20.0], 600.0, 800.0),
        ([np.nan, np.inf], None, 1.0),
        ([0.0], None, 1.0),
    ],
)
def test_axis_ends_at_a_round_number_that_one_runaway_does_not_move(values, end, top):
    scale = jrnmm.distance_axis(np.array(values), end)
    assert scale.ticks == pytest.approx((0, top / 2, top))
    assert scale.limits[0] < 0 < top < scale.limits[1]


def test_marginals_are_of_each_observation_alone_and_of_the_first_n(small):
    figure = draw_distances(3, dirac((1, 8, 30)), small[3])
    for name, ax in zip(("C", "mu", "sigma"), figure.axes[2:], strict=True):
        rows = small[3][small[3].parameter == name]
        labels = [line.get_label() for line in ax.lines]
        assert labels == [*(f"_single {j}" for j in range(4)), "_tall 8", "_tall 30", "_truth"]
        assert labelled(ax, "_truth").get_xdata()[0] == THETA[name]
        values = rows[(rows.kind == "tall") & (rows.n == 30)].value.to_numpy()
        x, height = density.marginal(values)
        np.testing.assert_allclose(labelled(ax, "_tall 30").get_xydata().T, [x, height])
        single = labelled(ax, "_single 2")
        assert single.get_linewidth() < labelled(ax, "_tall 8").get_linewidth()
        low, high = ax.get_xlim()
        first, last = BOUNDS[name]
        assert first - 0.1 * (last - first) < low < THETA[name] < high < last + 0.1 * (last - first)
    assert [ax.get_xlabel() for ax in figure.axes[2:]] == ["$C$", r"$\mu$", r"$\sigma$"]
    assert {"n = 1, 4 observations", "n = 8", "n = 30", "true parameter"} <= set(legend_labels(figure))


def test_without_single_observations_n_1_is_one_of_the_curves(small):
    tall = small[3][small[3].kind == "tall"]
    ax = draw_distances(3, dirac((1, 8, 30)), tall).axes[2]
    assert [line.get_label() for line in ax.lines] == ["_tall 1", "_tall 8", "_tall 30", "_truth"]
    colors = [labelled(ax, f"_tall {n}").get_color() for n in (1, 8, 30)]
    brightness = [np.dot(color[:3], (0.3, 0.6, 0.1)) for color in colors]
    assert brightness == sorted(brightness)


def test_runaways_neither_move_the_window_nor_pass_unnoticed(small):
    frame, broken = dirac((1, 8, 30)), small[3].copy()
    tall = broken.kind == "tall"
    broken.loc[tall & (broken.n == 8) & (broken.draw < 15), "value"] = 1e9
    broken.loc[tall & (broken.n == 30), "value"] = np.nan
    broken.loc[(broken.observation == 2), "value"] = np.inf
    figure = draw_distances(3, frame, broken)
    whole = draw_distances(3, frame, small[3])
    for ax, other in zip(figure.axes[2:], whole.axes[2:], strict=True):
        assert np.ptp(ax.get_xlim()) <= np.ptp(other.get_xlim())
        labels = [line.get_label() for line in ax.lines]
        assert labels == ["_single 0", "_single 1", "_single 3", "_tall 8", "_truth"]
        x, height = labelled(ax, "_tall 8").get_data()
        assert np.trapezoid(height, x) == pytest.approx(45 / 60, abs=0.02)
    entries = set(legend_labels(figure))
    assert {"n = 1, 3 of 4 observations", "n = 30 (100 % not shown)"} <= entries
    assert [label for label in entries if label.startswith("n = 8 (2")]


def test_pair_plot_is_a_lower_triangle_around_the_truth(small):
    figure = draw_distances(4, dirac((1, 8, 30)), small[4])
    panels, corner = figure.axes[2:-1], figure.axes[-1]
    places = [(row, column) for row in range(4) for column in range(row + 1)]
    names, labels = list(THETA), ["$C$", r"$\mu$", r"$\sigma$", "$g$"]
    for (row, column), ax in zip(places, panels, strict=True):
        truth = labelled(ax, "_truth")
        if row == column:
            assert truth.get_xdata()[0] == THETA[names[row]]
            assert [f"_tall {n}" for n in (1, 8, 30)] == [line.get_label() for line in ax.lines][:3]
        else:
            assert (truth.get_xdata()[0], truth.get_ydata()[0]) == (THETA[names[column]], THETA[names[row]])
            assert len(ax.collections) >= 6
        assert ax.get_xlabel() == (labels[column] if row == 3 else "")
        assert ax.get_ylabel() == (labels[row] if column == 0 and row > 0 else "")
    assert len({panels[places.index((row, 0))].get_xlim() for row in range(4)}) == 1
    texts = [text.get_text() for text in corner.get_legend().get_texts()]
    assert texts == ["n = 1", "n = 8", "n = 30", "true parameter"]


def test_legend_of_n_covers_no_panel_and_leaves_the_gaps_alone():
    clouds, frame = draws(4, samples=60, single=0), dirac()
    broken = pd.concat([clouds, clouds.assign(draw=clouds.draw + 60, value=np.nan)])
    edges = []
    for data in (clouds, broken):
        figure = draw_distances(4, frame, data)
        with style.context():
            figure.draw_without_rendering()
        *panels, corner = figure.axes[2:]
        box = corner.get_legend().get_window_extent()
        assert not [ax for ax in panels if ax.get_window_extent().overlaps(box)]
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
        edges.append([ax.get_window_extent().x0 for ax in panels[-4:]])
    assert "n = 30 (50 % not shown)" in [text.get_text() for text in corner.get_legend().get_texts()]
    np.testing.assert_allclose(*edges)


@pytest.mark.parametrize("dim", [3, 4])
def test_settings_and_data_that_do_not_fit_are_refused(dim, small):
    other = 7 - dim
    with pytest.raises(ValueError, match=rf"dim = {dim}: no distances .*have dim \[{other}\]"):
        draw_distances(dim, dirac((1,))[lambda f: f.dim == other], small[dim])
    with pytest.raises(ValueError, match=rf"dim = {dim}: no draws .*have dim \[{other}\]"):
        draw_distances(dim, dirac((1,)), small[other])
    with pytest.raises(
        SettingsError, match=r"JrnmmFigures.bounds = .*it must be given for C, no more or less"
    ):
        replace(settings(dim), theta={"C": 1.0})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dim", [3, 4])
@pytest.mark.parametrize(("n_obs", "samples", "single"), [((1, 4), 100, 5), ((8,), 30, 1), (N_OBS, 30, 30)])
def test_any_grid_fits(dim, n_obs, samples, single):
    figure = draw_distances(dim, dirac(n_obs, samples), draws(dim, n_obs, samples, single))
    with style.context():
        figure.draw_without_rendering()  # the layout warns if the panels have no room
    width = figure.canvas.get_width_height()[0]
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= width
    assert 0 <= box.y0 < box.y1 <= min(ax.get_tightbbox().y0 for ax in figure.axes if ax.axison)
    assert min(ax.get_window_extent().width for ax in figure.axes) > 90


def test_figures_survive_the_csv(small):
    data = {"dirac": dirac((1, 8, 30)), "draws": small[4]}
    read = {name: pd.read_csv(io.StringIO(frame.to_csv(index=False))) for name, frame in data.items()}
    ours, theirs = (draw_distances(4, frames["dirac"], frames["draws"]) for frames in (data, read))
    assert marks(ours.axes[0]) == marks(theirs.axes[0])
    for label, line in lines(ours.axes[0]).items():
        np.testing.assert_allclose(lines(theirs.axes[0])[label].get_ydata(), line.get_ydata())


@pytest.mark.parametrize("dim", [3, 4])
def test_same_data_give_the_same_bytes(dim, small, tmp_path):
    first, second = (
        png(draw_distances(dim, dirac((1, 8, 30)), small[dim]), tmp_path / "f.png") for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("name", ["losses", "3d", "4d", "lc2st_3d", "lc2st_4d"])
def test_caption_says_what_is_shown(name):
    text = caption(f"jrnmm_{name}")
    assert len(text.split()) > 100
    words = {"losses": ["N_train", "dashed"], "lc2st": ["standard deviation", "permut", "0.05", "not finite"]}
    for word in [*words.get(name.partition("_")[0], ["bandwidth", "second moment", "not finite"]), "Look"]:
        assert word in text.replace("(variance + squared bias)", "second moment")
