"""Loss curves and pair plots of the sbibm part, and the captions of all its artifacts."""

import numpy as np
import pytest
from drawn import caption, draw, labelled, png
from sbibm_data import SETTINGS, TASKS, TRUTH, losses, pairs, truth

from tallsbi.study.figures import density, sbibm_pairplots
from tallsbi.study.figures import losses as loss_figure

GRIDS = [
    *(f"sbibm_{metric}_vs_{x}" for metric in ("sw", "mmd", "c2st") for x in ("ntrain", "nobs")),
    *(f"sbibm_extra_{metric}_vs_ntrain" for metric in ("sw", "mmd", "c2st")),
    "det_gef_sbibm",
    "langevin_tamed",
    *(f"cfg_{metric}" for metric in ("sw", "mmd", "c2st")),
]
FIGURES = [*GRIDS, "sbibm_losses_bs64", "sbibm_losses_bs256", "sbibm_pairplots"]
TABLES = ["sbibm_slcp", "sbibm_lotka_volterra", "sbibm_sir", "metric_summary", "reference_certificates"]


def draw_losses(frame, batch_size=64):
    return draw(f"sbibm_losses_bs{batch_size}", {"losses": frame}, SETTINGS)


def test_running_mean_is_that_of_a_centred_window():
    values = np.arange(10.0) ** 2
    smooth = loss_figure.running_mean(values, 3)
    np.testing.assert_allclose(smooth[1:-1], [values[i - 1 : i + 2].mean() for i in range(1, 9)])
    np.testing.assert_allclose(smooth[[0, -1]], [values[:2].mean(), values[-2:].mean()])
    np.testing.assert_allclose(loss_figure.running_mean(np.ones(5), 50), 1)


@pytest.mark.parametrize("batch_size", [64, 256])
def test_losses_are_those_of_the_batch_size(batch_size):
    frame = losses(n_train=(1000, 30000), epochs=300)
    frame = frame.assign(train_loss=0.5 * frame.train_loss, val_loss=0.5 * frame.val_loss)
    figure = draw_losses(frame, batch_size)
    axes = np.array(figure.axes).reshape(3, 2)
    assert [ax.get_title() for ax in axes[0]] == [r"$N_\mathrm{train}$ = 1000", r"$N_\mathrm{train}$ = 30000"]
    assert all(ax.get_ylim() == (0, 0.5) for ax in axes.flat)
    for task, row in zip(TASKS, axes, strict=True):
        for rate, color in ((0.0001, "tab:blue"), (0.001, "tab:orange")):
            rows = frame[(frame.task == task) & (frame.n_train == 30000) & (frame.batch_size == batch_size)]
            rows = rows[rows.learning_rate == rate]
            raw = labelled(row[1], f"_raw val_loss {rate:g}")
            np.testing.assert_array_equal(raw.get_ydata(), rows.val_loss)
            smooth = labelled(row[1], f"_val_loss {rate:g}")
            np.testing.assert_allclose(
                smooth.get_ydata(), loss_figure.running_mean(rows.val_loss.to_numpy(), 6)
            )
            assert (smooth.get_color(), smooth.get_alpha()) == (color, 0.9)
            assert labelled(row[1], f"_train_loss {rate:g}").get_alpha() == 0.3
            assert labelled(row[1], f"_stop {rate:g}").get_xdata()[0] == rows.stop_epoch.iloc[0]
        used = [line.get_label() for line in row[1].lines if line.get_label().startswith("_chosen")]
        assert used == (["_chosen 0.001"] if task == "lotka_volterra" else ["_chosen 0.0001"])


def test_long_curves_are_thinned():
    (ax,) = draw_losses(losses(tasks=["sir"], n_train=(1000,), epochs=5000)).axes
    curves = [line for line in ax.lines if "loss" in line.get_label()]
    assert len(curves) == 6
    assert max(len(line.get_xdata()) for line in curves) <= 400


def test_loss_that_ends_above_the_axis_or_diverges_is_said():
    frame = losses(tasks=["sir"], n_train=(1000, 3000), batch_sizes=(64,), epochs=200).assign(val_loss=0.4)
    first = frame.n_train == 1000
    frame.loc[first & (frame.learning_rate == 0.001), "val_loss"] = 0.75
    frame.loc[first & (frame.learning_rate == 0.0001) & (frame.epoch > 50), "val_loss"] = np.nan
    ax, _ = draw_losses(frame).axes
    assert [text.get_text() for text in ax.texts] == ["diverged", "↑ ends at 0.75"]


def test_axis_widens_where_most_losses_end_above_it():
    frame = losses(tasks=["sir", "slcp"], n_train=(1000, 3000), epochs=40).assign(
        train_loss=0.3, val_loss=0.3
    )
    frame.loc[frame.task == "slcp", "val_loss"] = 0.9
    axes = np.array(draw_losses(frame).axes).reshape(2, 2)
    assert [[ax.get_ylim()[1] for ax in row] for row in axes] == [[1.0, 1.0], [0.5, 0.5]]
    assert labelled(axes[0, 0], "_paper's axis ends").get_ydata()[0] == 0.5
    assert [text.get_text() for text in axes[0, 0].texts] == []


def test_validation_every_few_epochs_is_drawn_where_it_was_taken():
    frame = losses(tasks=["sir"], n_train=(1000,), batch_sizes=(64,), epochs=100)
    frame.loc[frame.epoch % 5 != 0, "val_loss"] = np.nan
    (ax,) = draw_losses(frame.assign(train_loss=0.3)).axes
    np.testing.assert_array_equal(labelled(ax, "_val_loss 0.001").get_xdata(), np.arange(5, 101, 5))
    assert len(labelled(ax, "_train_loss 0.001").get_xdata()) == 100
    assert "diverged" not in [text.get_text() for text in ax.texts]


def test_untrained_panels_say_so_and_an_untrained_batch_size_is_refused():
    frame = losses(tasks=["sir", "slcp"], n_train=(1000, 3000), batch_sizes=(256,), epochs=20)
    frame = frame[(frame.task == "sir") | (frame.n_train == 1000)]
    axes = np.array(draw_losses(frame, 256).axes).reshape(2, 2)
    assert [text.get_text() for text in axes[0, 1].texts] == ["not trained", "SLCP"]
    with pytest.raises(ValueError, match=r"batch_sizes = \[256\]: no network.*batches of 64"):
        draw_losses(frame, 64)


def test_other_learning_rates_have_colours_too():
    frame = losses(tasks=["sir"], n_train=(1000,), epochs=20).replace({"learning_rate": {0.001: 0.01}})
    figure = draw_losses(frame)
    assert "learning rate 0.01" in [text.get_text() for text in figure.legends[0].get_texts()]


# The next two draw from normals with a fixed seed; the bounds are more than five standard errors wide, so
# with another seed they would fail less than once in a million runs.
def test_bandwidth_follows_the_mode_and_not_the_whole_cloud():
    rng = np.random.default_rng(5)
    one = rng.normal(scale=2.0, size=20000)
    assert density.mode_width(one) == pytest.approx(2.0, rel=0.1)
    two = np.concatenate([rng.normal(-5, 0.1, 10000), rng.normal(5, 0.1, 10000)])
    assert density.mode_width(two) < 0.3 < np.std(two)


def test_contours_hold_their_share():
    rng = np.random.default_rng(6)
    points = rng.multivariate_normal([1.0, -2.0], [[1.0, 0.5], [0.5, 2.0]], size=20000)
    x, y, height = density.joint(points)
    cell = (x[1] - x[0]) * (y[1] - y[0])
    assert height.sum() * cell == pytest.approx(1, abs=0.01)
    outer, inner = density.levels(height, (0.5, 0.9))
    assert outer < inner
    for level, share in ((inner, 0.5), (outer, 0.9)):
        held = height[height >= level].sum() * cell
        assert held == pytest.approx(share, abs=0.01)
        # The region of highest density of a Gaussian has the area -2 pi log(1 - share) sqrt(det).
        area = (height >= level).sum() * cell
        assert area == pytest.approx(-2 * np.pi * np.log(1 - share) * np.sqrt(1.75), rel=0.1)


def test_a_few_runaways_do_not_spoil_the_grid():
    points = np.random.default_rng(8).normal(size=(1000, 2))
    points[:30] = 1e6
    x, _, height = density.joint(points)
    assert np.diff(x[[0, -1]])[0] < 10
    assert (height >= density.levels(height, (0.5,))[0]).sum() > 100


def test_shortest_interval():
    assert density.shortest_interval(np.array([9.0, 0.0, 1.0, 1.5, 1.6, 5.0, 7.0, 8.0]), 0.25) == (1.0, 1.6)
    assert density.shortest_interval(np.array([2.0, 1.0]), 1.0) == (1.0, 2.0)


def test_marginal_integrates_to_one_and_a_constant_has_a_density():
    x, height = density.marginal(np.random.default_rng(7).normal(size=500))
    assert np.trapezoid(height, x) == pytest.approx(1, abs=0.01)
    assert np.isfinite(density.marginal(np.full(50, 3.0))[1]).all()


@pytest.fixture(scope="module")
def small_pairs():
    return pairs(samples=60)


def test_pairplots_have_a_square_of_panels_per_task(small_pairs):
    figure = sbibm_pairplots.draw({"pairs": small_pairs, "truth": truth()}, SETTINGS)
    assert len(figure.axes) == 25 + 16 + 4
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert titles == ["SLCP, set 4", "Lotka-Volterra, set 4", "SIR, set 4"]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "reference, n = 14" in texts
    assert "n = 30 alone" in figure.legends[0].get_title().get_text()
    sir = np.array(figure.axes[-4:]).reshape(2, 2)
    beta, gamma = TRUTH["sir"]
    for ax, point in ((sir[0, 1], (gamma, beta)), (sir[1, 0], (beta, gamma))):
        (dot,) = [line for line in ax.lines if line.get_label() == "_truth"]
        assert (dot.get_xdata()[0], dot.get_ydata()[0]) == point
    assert [sir[1, 0].get_xlabel(), sir[1, 0].get_ylabel()] == [r"$\beta$", r"$\gamma$"]
    wide, enlarged = (np.diff(ax.get_xlim())[0] for ax in (sir[1, 1], sir[0, 1]))
    assert enlarged < 0.7 * wide
    assert {line.get_label() for line in sir[0, 0].lines} == {"_GAUSS 1", "_GAUSS 14", "_GAUSS 30", "_truth"}


def test_marginals_of_one_n_share_their_scale(small_pairs):
    data = small_pairs[small_pairs.task == "sir"]
    figure = sbibm_pairplots.draw({"pairs": data, "truth": truth(["sir"])}, SETTINGS)
    cloud = data[(data.n == 1) & (data.parameter == "beta")]
    values = {source: part.value.to_numpy() for source, part in cloud.groupby("source")}
    expected = density.marginal(values["GAUSS"])[1] / density.marginal(values["reference"])[1].max()
    np.testing.assert_allclose(labelled(figure.axes[0], "_GAUSS 1").get_ydata(), expected)


def test_samples_that_are_not_finite_are_counted(small_pairs):
    broken = small_pairs[small_pairs.task == "sir"].copy()
    lost = (broken.source == "GAUSS") & (broken.n == 30)
    broken.loc[lost & (broken.parameter == "beta") & (broken["sample"] < 7), "value"] = np.nan
    figure = sbibm_pairplots.draw({"pairs": broken, "truth": truth(["sir"])}, SETTINGS)
    assert figure.axes[0].get_title(loc="left") == "SIR, set 4\n7 samples not finite"
    broken.loc[lost, "value"] = np.inf
    figure = sbibm_pairplots.draw({"pairs": broken, "truth": truth(["sir"])}, SETTINGS)
    assert "60 samples not finite" in figure.axes[0].get_title(loc="left")


def test_enlarged_window_widens_for_a_biased_method(small_pairs):
    def window(shift):
        data = small_pairs[small_pairs.task == "sir"].copy()
        data.loc[data.source == "GAUSS", "value"] += shift
        figure = sbibm_pairplots.draw({"pairs": data, "truth": truth(["sir"])}, SETTINGS)
        return np.diff(figure.axes[1].get_xlim())[0]

    assert window(10.0) == pytest.approx(3 * window(0.0))


def test_pairplots_of_no_known_task_are_refused(small_pairs):
    with pytest.raises(ValueError, match=r"tasks = .*no samples"):
        sbibm_pairplots.draw({"pairs": small_pairs.assign(task="gmm"), "truth": truth()}, SETTINGS)


def test_parameters_have_symbols_and_n_has_shades():
    assert [sbibm_pairplots.symbol(name) for name in ("theta_12", "alpha")] == [r"$\theta_{12}$", r"$\alpha$"]
    dark, light = (sum(sbibm_pairplots.shade("GAUSS", n, (1, 14, 30))[:3]) for n in (1, 30))
    assert dark < light
    assert sbibm_pairplots.shade("GAUSS", 8, (8,)) == sbibm_pairplots.shade("GAUSS", 1, (1, 30))


@pytest.mark.parametrize("name", ["sbibm_losses_bs64", "sbibm_pairplots"])
def test_same_data_give_the_same_bytes(name, tmp_path, small_pairs):
    data = {"losses": losses(["sir"], (1000,), epochs=50), "truth": truth(["sir"])}
    data["pairs"] = small_pairs[small_pairs.task == "sir"]
    first, second = (png(draw(name, data, SETTINGS), tmp_path / "f.png") for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", [*FIGURES, *TABLES])
def test_caption_says_what_is_shown(name):
    text = caption(name)
    assert len(text.split()) > 50
    if name in GRIDS:
        for word in ("parameter sets", "standard deviation", "lost", "exclusion rule", "Look"):
            assert word in text
    elif name in FIGURES:
        assert "Look" in text
    else:
        assert "sets" in text
