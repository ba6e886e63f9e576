"""Regressions with a full covariance that depends on the input, several of them at once."""

import math

import pytest
import torch
from torch.nn.utils import parameters_to_vector

from tallsbi.summaries import training
from tallsbi.summaries.regression import ConditionalGaussian
from tallsbi.summaries.stack import Stack
from tallsbi.summaries.training import Simulations, train


def data(rows, seed):
    """The mean bends, and the spread and the correlation of what is left change with u."""
    generator = torch.Generator().manual_seed(seed)
    u = torch.randn(rows, 1, generator=generator)
    z = torch.randn(rows, 2, generator=generator)
    spread = (0.5 * u).exp()
    second = torch.tanh(u) * z[:, :1] + z[:, 1:]
    return u, torch.cat([u.sin() + spread * z[:, :1], u + second], 1)


def tell(monkeypatch, losses):
    """These held-out losses, before the first cycle and after each, whatever the network is; what is not yet told."""
    told = iter(losses)
    monkeypatch.setattr(
        training._Learner, "_held_out_losses", lambda self: torch.full((60,), next(told)).double()
    )
    return told


def trained(*simulations, seed, **settings):
    """One network alone."""
    return train([Simulations(*simulations)], [seed], **settings)[0]


@pytest.mark.parametrize("targets", [1, 2, 4, 30])
def test_standardised_residuals_need_no_matrices(targets):
    """They are R (y - mean), with off-diagonal entries that depend on the input and, for many targets, with fixed."""
    torch.manual_seed(0)
    network = ConditionalGaussian(3, targets, width=8, depth=1)
    torch.nn.init.normal_(network.off_diagonal)
    u, y = torch.randn(5, 3), torch.randn(5, targets)
    mean, root, log_diagonal = network(u)
    standardised, logarithm = network.standardised(u, y)
    torch.testing.assert_close(standardised, (root @ (y - mean)[..., None])[..., 0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(logarithm, log_diagonal)


def test_mean_and_covariance_follow_the_input():
    network = trained(*data(4000, 0), *data(400, 1), epochs=60, seed=2)
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
    network = trained(u, y, u[:50], y[:50], epochs=1000, seed=4, seconds=0.0)
    start = ConditionalGaussian.start(u, y, 4)
    assert torch.allclose(network.skip.weight, torch.full((2, 1), 2.0), atol=0.2)
    assert torch.equal(network.skip.weight, start.skip.weight)


def test_same_seed_gives_the_same_network():
    first, second = (trained(*data(300, 5), *data(60, 6), epochs=2, seed=7) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_cycle_that_makes_things_worse_is_taken_back(monkeypatch):
    """Steps far too long, then reasonable ones; too long again would leave the linear regression."""
    u, y = data(2000, 8)
    held_u, held_y = data(500, 9)
    monkeypatch.setattr(training, "_RATE", 2.0)
    linear = ConditionalGaussian.start(u, y, 10)

    def loss(network):
        return float(network.loss(held_u, held_y).detach().mean())

    assert loss(trained(u, y, held_u, held_y, epochs=20, seed=10)) == loss(linear)
    monkeypatch.setattr(training, "_RETREAT", 0.002)
    assert loss(trained(u, y, held_u, held_y, epochs=20, seed=10)) < loss(linear) - 0.1


@pytest.mark.parametrize("targets", [1, 3, 14])
def test_gradient_of_a_stack_is_that_of_each_network(targets):
    """14 targets: the entries of R below the diagonal no longer depend on u."""
    generator = torch.Generator().manual_seed(11)
    u = torch.randn(3, 200, 5, generator=generator)
    y = torch.randn(3, 200, targets, generator=generator) + u[..., :1].sin()
    networks = [ConditionalGaussian.start(u[i], y[i], seed=i) for i in range(3)]
    for network in networks:
        for parameter in network.parameters():
            parameter.data.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    expected = []
    for network, inputs, outputs in zip(networks, u, y, strict=True):
        gradient = torch.autograd.grad(network.loss(inputs, outputs).mean(), list(network.parameters()))
        expected.append(parameters_to_vector(gradient))
    stack = Stack(networks)
    stack(u, y)
    assert torch.allclose(stack.gradient, torch.stack(expected), atol=1e-6)
    stack.clip(0.5)
    assert torch.allclose(
        stack.gradient.norm(dim=1), torch.stack(expected).norm(dim=1).clamp_max(0.5), atol=1e-4
    )


@pytest.mark.parametrize(
    ("losses", "cycles"),
    [
        ([1.0, 0.9, 0.86, 0.5], 4),  # gains of 0.1 and 0.04: the last cycle should bring 0.016
        ([1.0, 0.9, 0.895, 0.5], 3),  # 0.1 and 0.005: it should bring 0.00025, less than is worth its time
        ([1.0, 0.999, 0.5, 0.4], 2),
        ([1.0, 1.2, 0.5, 0.4], 2),  # overfitting
    ],
)
def test_cycles_go_on_while_the_next_one_is_worth_its_time(monkeypatch, losses, cycles):
    told = tell(monkeypatch, [5.0, *losses])
    trained(*data(300, 17), *data(60, 18), epochs=2, seed=0)
    assert len(list(told)) == len(losses) - cycles


def test_a_linear_regression_without_a_finite_loss_is_left(monkeypatch):
    tell(monkeypatch, [math.inf, 1.0, 1.1])
    u, y = data(300, 17)
    network = trained(u, y, *data(60, 18), epochs=2, seed=0)
    start = ConditionalGaussian.start(u, y, 0)
    assert not torch.equal(network.layers[0].weight, start.layers[0].weight)


def test_a_linear_law_stays_a_linear_regression():
    """The network could only add noise of its own, which grows with the number of observations."""
    generator = torch.Generator().manual_seed(20)
    u = torch.randn(5000, 2, generator=generator)
    y = u @ torch.tensor([[1.0, 0.5], [0.0, 2.0]]) + torch.randn(5000, 2, generator=generator)
    network = trained(u[:4000], y[:4000], u[4000:], y[4000:], epochs=20, seed=21)
    start = ConditionalGaussian.start(u[:4000], y[:4000], 21)
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), start.parameters(), strict=True))


def test_strays_among_the_held_out_simulations_do_not_decide():
    """With them any narrower law looks worse, and the network would stay at the linear regression."""
    u, y = data(2000, 8)
    held_u, held_y = data(500, 9)
    usual = trained(u, y, held_u[5:], held_y[5:], epochs=20, seed=10)
    held_y[:5] += 1000.0
    network = trained(u, y, held_u, held_y, epochs=20, seed=10)
    fresh_u, fresh_y = data(2000, 19)
    assert float(network.loss(fresh_u, fresh_y).mean()) == pytest.approx(
        float(usual.loss(fresh_u, fresh_y).mean()), abs=0.02
    )


def test_networks_trained_together_equal_those_trained_alone():
    """Also where one needs fewer cycles than the other."""
    simulations = [Simulations(*data(1000, 12), *data(200, 13)), Simulations(*data(1000, 14), *data(30, 15))]
    together = train(simulations, [1, 2], epochs=30)
    alone = [train([one], [seed], epochs=30)[0] for one, seed in zip(simulations, (1, 2), strict=True)]
    u = torch.linspace(-2, 2, 9)[:, None]
    for first, second in zip(together, alone, strict=True):
        for a, b in zip(first(u), second(u), strict=True):
            assert torch.allclose(a, b, atol=0.02)


def test_trained_network_does_not_keep_the_others_in_memory():
    simulations = [Simulations(*data(300, seed), *data(60, 20 + seed)) for seed in range(4)]
    for network in train(simulations, [0, 1, 2, 3], epochs=2):
        for parameter in network.parameters():
            assert parameter.untyped_storage().nbytes() == parameter.nbytes
