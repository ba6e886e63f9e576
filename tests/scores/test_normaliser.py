"""Standardisation: moments, inverse, log space, columns that never vary, and the way through JSON."""

import json

import pytest
import torch
from oracles import generator

from tallsbi.scores.normaliser import Normaliser


def data(rows=200):
    draws = generator(1)
    theta = 3 + 2 * torch.randn(rows, 2, generator=draws)
    x = (torch.randn(rows, 3, generator=draws) - 1).exp()
    return theta, x


def test_standardised_rows_have_mean_zero_and_std_one():
    theta, x = data()
    normaliser = Normaliser.fit(theta, x)
    for value in (normaliser.theta(theta.double()), normaliser.x(x.double())):
        torch.testing.assert_close(value.mean(0), torch.zeros(value.shape[1]).double(), rtol=0, atol=1e-12)
        torch.testing.assert_close(value.std(0), torch.ones(value.shape[1]).double())
    torch.testing.assert_close(normaliser.latent(normaliser.theta(theta)), theta)
    assert normaliser.theta(theta).dtype == theta.dtype


def test_log_space():
    theta, x = data()
    normaliser = Normaliser.fit(theta, x, log_x=True)
    torch.testing.assert_close(normaliser.x_mean, x.log().double().mean(0))
    torch.testing.assert_close(normaliser.x(x.double()), Normaliser.fit(theta, x.log()).x(x.double().log()))
    with pytest.raises(ValueError, match=r"value 0\.0.*set log_x to False"):
        Normaliser.fit(theta, x.clamp_min(0) * (x > x.min()), log_x=True)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1])
def test_a_column_that_never_varies_becomes_zero(value):
    """0.1 is not a binary number: its computed std would be tiny instead of zero, and the column noise."""
    theta, x = data(1000)
    x[:, 1] = value
    normaliser = Normaliser.fit(theta, x)
    standard = normaliser.x(x)
    assert bool(standard.isfinite().all())
    assert float(standard[:, 1].abs().max()) == 0
    unseen = x[:5].clone()
    unseen[:, 1] += 7
    assert float(normaliser.x(unseen)[:, 1].abs().max()) == 0
    assert torch.equal(normaliser.x(unseen)[:, 0], standard[:5, 0])


def test_a_constant_parameter_is_refused():
    theta, x = data()
    theta[:, 1] = 2
    with pytest.raises(ValueError, match="column 1 is constant"):
        Normaliser.fit(theta, x)


def test_rows_that_are_not_finite_are_refused():
    theta, x = data()
    x[3, 2] = torch.inf
    with pytest.raises(ValueError, match="x is not finite in column 2"):
        Normaliser.fit(theta, x)


def test_it_survives_json_exactly():
    theta, x = data()
    x[:, 0] = 1
    normaliser = Normaliser.fit(theta, x)
    back = Normaliser.from_json(json.loads(json.dumps(normaliser.to_json())))
    assert vars(back).keys() == vars(normaliser).keys()
    assert torch.equal(back.x(x), normaliser.x(x))
    assert torch.equal(back.theta_std, normaliser.theta_std)
    assert back.log_x is False
