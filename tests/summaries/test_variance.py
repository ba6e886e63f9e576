"""The error of h as a function of what the laws disagree by."""

import pytest
import torch

from tallsbi.summaries.variance import VarianceLaw

TOTAL, REPEATS = 1.0, 25


def fitted(v, J, dim, seed=0, known=False, strays=0):
    """From departures with error v(J); `strays` of them are a thousand times as large."""
    generator = torch.Generator().manual_seed(seed)
    chi2 = torch.randn(len(J), dim, generator=generator, dtype=torch.float64).square().mean(1)
    departure = ((TOTAL - v.mean()) / REPEATS + v) * chi2
    departure[:strays] *= 1000
    return VarianceLaw.fit(departure, J, TOTAL, float(v.mean()), REPEATS, dim, known)


@pytest.fixture
def J():
    return torch.logspace(-4, 0, 2000, dtype=torch.float64)


@pytest.mark.parametrize("dim", [1, 3, 10])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_level_and_power_are_found(J, dim, power):
    v = 0.3 * J**power
    law = fitted(v, J, dim)
    assert law.power == pytest.approx(power, abs=0.1)
    assert float(law(J).mean()) == pytest.approx(float(v.mean()), rel=0.15)


def test_a_few_strays_do_not_decide(J):
    v = 0.1 * J**0.5
    assert float(fitted(v, J, 2, strays=20)(J).mean()) == pytest.approx(float(v.mean()), rel=0.2)


def test_a_known_average_is_kept_and_the_shape_found(J):
    v = 0.2 * J**0.5
    law = fitted(v, J, 2, known=True)
    assert float(law(J).mean()) == pytest.approx(float(v.mean()), rel=1e-6)
    assert law.power == pytest.approx(0.5, abs=0.1)


def test_few_parameters_leave_the_likely_power():
    few = torch.logspace(-3, -1, 8, dtype=torch.float64)
    powers = [fitted(0.02 * few**0, few, 2, seed=seed).power for seed in range(20)]
    assert 0.3 < sum(powers) / 20 < 0.75


def test_beyond_what_was_seen_the_error_does_not_change(J):
    law = VarianceLaw(level=2.0, power=0.5, low=0.01, high=0.25)
    assert law(torch.tensor([1e-9, 0.01, 0.25, 9.0], dtype=torch.float64)).tolist() == pytest.approx(
        [0.2, 0.2, 1.0, 1.0]
    )
