"""Summaries learnt crosswise, and how well their law is known."""

import time

import pytest
import torch

from tallsbi.summaries.crossfit import average, crossfit, departures, is_bimodal
from tallsbi.summaries.regression import ConditionalGaussian


def simulated(rows, seed):
    """Eight numbers of which two say something, and little of it bends."""
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(rows, 2, generator=generator)
    x = torch.randn(rows, 8, generator=generator)
    x[:, :2] += v + 0.3 * v.square()
    return v, x


@pytest.mark.parametrize("rows", [400, 4000])
def test_law_is_that_of_simulations_no_network_has_seen(rows):
    """Few rows are known by heart: their own summaries lie closer to their mean than those of fresh rows."""
    v, x = simulated(rows, 0)
    learnt = crossfit(v, x, seed=1, epochs=30, seconds=60.0)
    fresh_v, fresh_x = simulated(20_000, 2)
    shown = departures(learnt.laws, fresh_v, learnt.phi(average(learnt.regressions, fresh_x))).mean()
    # As exact as the tenth of the rows that are held out can say it: 80 or 800 numbers.
    assert learnt.noise + learnt.variance == pytest.approx(float(shown), rel=0.3 if rows == 400 else 0.12)


def residuals(*values):
    """A regression that leaves these, and takes no notice of u."""
    network = ConditionalGaussian(1, 1).requires_grad_(False)
    for parameter in network.parameters():
        parameter.zero_()
    y = torch.cat(values)[:, None]
    return network, torch.zeros_like(y), y


def test_two_modes_are_seen_and_strays_are_not_taken_for_them():
    z = torch.randn(2000, generator=torch.Generator().manual_seed(9))
    two = torch.cat([0.3 * z[:1000] - 2, 0.3 * z[1000:] + 2])
    strays = torch.full((5,), 300.0)
    assert not is_bimodal(*residuals(z))
    assert not is_bimodal(*residuals(z, strays))
    assert is_bimodal(*residuals(two))
    assert is_bimodal(*residuals(two, strays))


def test_fewer_simulations_say_less_of_the_law():
    few, many = (crossfit(*simulated(rows, 3), seed=1, epochs=20, seconds=60.0) for rows in (400, 3000))
    assert 2 * many.variance < few.variance


def test_error_of_h_is_no_larger_than_the_jackknife_says_for_a_smooth_law():
    v, x = simulated(2000, 4)
    learnt = crossfit(v, x, seed=1, epochs=20, seconds=60.0)
    place = torch.randn(50, 2, generator=torch.Generator().manual_seed(5))
    generator = torch.Generator().manual_seed(6)
    fresh = torch.randn(50, 2000, 8, generator=generator)
    fresh[..., :2] += (place + 0.3 * place.square())[:, None]
    means = torch.stack([learnt.phi(average(learnt.regressions, rows)).mean(0) for rows in fresh])
    assert float(departures(learnt.laws, place, means).mean()) < 3 * learnt.variance + 3 / 2000


def test_time_is_kept():
    start = time.monotonic()
    assert crossfit(*simulated(2000, 7), seed=1, epochs=10_000, seconds=1.0) is not None
    assert time.monotonic() - start < 30.0  # linear regressions and the like have no limit


def test_simulator_without_noise_has_a_law_all_the_same():
    v = torch.randn(600, 2, generator=torch.Generator().manual_seed(8))
    learnt = crossfit(v, v.clone(), seed=1, epochs=5, seconds=60.0)
    assert learnt.noise > 0
    assert 0 <= learnt.variance < 1
    assert torch.allclose(average(learnt.laws, v[:5]), learnt.phi(v[:5]), atol=0.05)
