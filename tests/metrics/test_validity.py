"""What bounded metrics cannot see: draws that blew up fool none of the metrics, or are marked invalid."""

import pkgutil

import numpy as np
import pytest
import torch

from tallsbi import metrics
from tallsbi.metrics.c2st import c2st
from tallsbi.metrics.calibration import calibration
from tallsbi.metrics.dirac import mmd_to_point, scaled_second_moment
from tallsbi.metrics.lc2st import local_test
from tallsbi.metrics.mmd import mmd2
from tallsbi.metrics.sliced import sliced_wasserstein
from tallsbi.metrics.tarp import credibilities, uniformity
from tallsbi.metrics.validity import BLOWN_UP, FAR_OFF, blew_up, is_lost, lost_share, starved, usable_draws

SIZE, M = 60, 10
SCALES = [50.0, 1e9, 1e61, np.inf, np.nan]
EACH_SCALE = pytest.mark.parametrize("scale", SCALES)
# The modules of the package that compare draws with something, and the others.
METRICS = {"c2st", "calibration", "dirac", "lc2st", "mmd", "sliced", "tarp"}
OTHER_MODULES = {"c2st_batched", "c2st_kernel", "horizon", "validity"}


def normal(seed, size=SIZE, m=M):
    return np.random.default_rng(seed).standard_normal((size, m))


def exploded(scale, seed=1):
    draws = normal(seed)
    return scale * draws if np.isfinite(scale) else np.where(np.arange(SIZE)[:, None] % 7 == 0, scale, draws)


def test_every_metric_is_fed():
    assert {module.name for module in pkgutil.iter_modules(metrics.__path__)} == METRICS | OTHER_MODULES


@EACH_SCALE
def test_no_metric_is_fooled(scale):
    """Each is worse than for good draws by far or has no value, and the draws are known to be invalid."""
    bad, good, reference, zero, one = exploded(scale), normal(2), normal(3), np.zeros(M), np.ones(M)
    # What bounded metrics, as C2ST, say of such draws does not count.
    assert blew_up(bad, reference)
    assert not blew_up(good, reference)
    distance = sliced_wasserstein(bad, reference, 20, 1)[0]
    assert np.isnan(distance) or distance > 10 * sliced_wasserstein(good, reference, 20, 1)[0]
    published = scaled_second_moment(bad, zero)
    assert np.isnan(published).all() or (published > 10 * scaled_second_moment(good, zero)).all()
    to_point = mmd_to_point(bad, zero, one)
    assert np.isnan(to_point).all() or (to_point > mmd_to_point(good, zero, one)).all()
    squared = mmd2(bad, reference)
    assert np.isnan(squared) or squared > 0.1
    assert is_lost(lost_share(usable_draws(bad, zero, one)))


@EACH_SCALE
def test_coverage_sees_draws_that_are_far_away(scale):
    theta, drawn = (
        torch.from_numpy(normal(1)),
        torch.from_numpy(normal(2)).reshape(SIZE, 1, M).repeat(1, 20, 1),
    )
    assert uniformity(credibilities(theta, scale * drawn, torch.Generator().manual_seed(1))) < 1e-6
    draws = np.random.default_rng(3).standard_normal((SIZE, 20, M))
    assert calibration(1, normal(1), scale * draws, np.random.default_rng(4)).departures


@pytest.mark.parametrize("scale", [np.inf, np.nan])
def test_the_local_test_refuses_draws_that_are_not_finite(scale):
    theta, drawn = (torch.from_numpy(part).float() for part in (normal(1), exploded(scale)))
    with pytest.raises(ValueError, match="drawn has values that are not finite"):
        local_test(theta, drawn, theta, theta, theta[0], classifiers=1, permutations=1)


def test_the_numbers_that_made_the_rules_necessary():
    """60 samples in 10 dimensions: C2ST calls draws 50 to 1e9 times as wide perfect, MMD² is the same for all."""
    pairs = [(scale * normal(1), normal(3)) for scale in (50.0, 1e9)]
    np.testing.assert_array_equal(c2st(pairs, seed=1), [0.5, 0.5])
    np.testing.assert_allclose([mmd2(*pair) for pair in pairs], 0.6, atol=0.02)
    narrow = 0.1 * normal(1) + 3
    assert mmd2(narrow, normal(3)) > 1


@pytest.mark.parametrize("m", [2, 5, 10])
def test_with_enough_samples_ten_times_as_wide_is_detected(m):
    """The numbers of the schema: what is not marked invalid is told apart."""
    pairs = [(0.99 * BLOWN_UP * normal(seed, 15 * m, m), normal(seed + 10, 15 * m, m)) for seed in range(4)]
    assert c2st(pairs, seed=1).min() >= 0.85
    assert starved(15 * m - 1, m, 15)
    assert not starved(15 * m, m, 15)


@pytest.mark.parametrize("size", [100, 1000, 20000])
def test_lost_is_a_share_and_does_not_depend_on_the_number_of_draws(size):
    theta = np.zeros((size, 2))
    for share, lost in ((0.0, False), (0.01, False), (0.04, True)):
        theta[: round(share * size), 1] = 1e61
        assert is_lost(lost_share(usable_draws(theta, np.zeros(2), np.ones(2)))) == lost


def test_a_draw_is_lost_beyond_ten_standard_deviations_of_its_own_coordinate():
    mean, std = np.array([5.0, -3.0]), np.array([2.0, 0.1])
    within, beyond = (
        mean + std * factor * FAR_OFF * np.array([[1, 0], [0, -1]]) for factor in (0.999, 1.001)
    )
    assert usable_draws(within, mean, std).all()
    assert not usable_draws(beyond, mean, std).any()
    assert not usable_draws(np.array([[np.nan, -3.0], [5.0, -np.inf]]), mean, std).any()


def test_a_few_far_draws_and_a_shift_do_not_blow_up():
    draws = normal(1, 1000, 2)
    draws[:5] = 1e6
    assert not blew_up(draws, normal(2, 1000, 2))
    assert not blew_up(normal(1, 1000, 2) + 1e6, normal(2, 1000, 2))
    wide_in_one_coordinate = normal(1, 1000, 2) * [1, 20]
    assert blew_up(wide_in_one_coordinate, normal(2, 1000, 2))
