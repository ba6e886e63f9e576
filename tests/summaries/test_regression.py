"""Regression with a full covariance that depends on the input."""

import torch

from tallsbi.summaries import regression
from tallsbi.summaries.regression import ConditionalGaussian, train


def data(rows, seed):
    """The mean bends, and the spread and the correlation of what is left change with u."""
    generator = torch.Generator().manual_seed(seed)
    u = torch.randn(rows, 1, generator=generator)
    z = torch.randn(rows, 2, generator=generator)
    spread = (0.5 * u).exp()
    second = torch.tanh(u) * z[:, :1] + z[:, 1:]
    return u, torch.cat([u.sin() + spread * z[:, :1], u + second], 1)


def test_mean_and_covariance_follow_the_input():
    network = train(*data(4000, 0), *data(400, 1), epochs=60, seed=2)
    u = torch.tensor([[-1.0], [0.0], [1.0]])
    mean, root, _ = network(u)
    covariance = torch.linalg.inv(root.mT @ root)
    spread, slope = (0.5 * u[:, 0]).exp(), torch.tanh(u[:, 0])
    exact = torch.stack(
        [torch.stack([spread**2, spread * slope], 1), torch.stack([spread * slope, slope**2 + 1], 1)], 1
    )
    assert (mean - torch.cat([u.sin(), u], 1)).abs().max() < 0.15
    assert (covariance - exact).abs().max() < 0.35


def test_starts_at_the_linear_regression_and_ends_with_the_time():
    u, y = data(500, 3)
    y = 2 * u @ torch.ones(1, 2) + 0.1 * y
    network = train(u, y, u[:50], y[:50], epochs=1000, seed=4, seconds=0.0)
    start = ConditionalGaussian.start(u, y, 4)
    assert torch.allclose(network.skip.weight, torch.full((2, 1), 2.0), atol=0.2)
    assert torch.equal(network.skip.weight, start.skip.weight)


def test_same_seed_gives_the_same_network():
    first, second = (train(*data(300, 5), *data(60, 6), epochs=2, seed=7) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_cycle_that_makes_things_worse_is_taken_back(monkeypatch):
    """Steps far too long, then reasonable ones; too long again would leave the linear regression."""
    u, y = data(2000, 8)
    held_u, held_y = data(500, 9)
    monkeypatch.setattr(regression, "_RATE", 2.0)
    linear = ConditionalGaussian.start(u, y, 10)

    def loss(network):
        return float(network.loss(held_u, held_y).detach().mean())

    assert loss(train(u, y, held_u, held_y, epochs=20, seed=10)) == loss(linear)
    monkeypatch.setattr(regression, "_RETREAT", 0.002)
    assert loss(train(u, y, held_u, held_y, epochs=20, seed=10)) < loss(linear) - 0.1
