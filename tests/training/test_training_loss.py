"""The loss against a computation by hand, and the rows it is evaluated on."""

import math

import pytest
import torch
from oracles import generator

from tallsbi.schedule import NETWORK, Schedule
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.training.gradient import PerceptronGradient, flatten
from tallsbi.training.loss import diffuse, epoch_rows, row_losses, rows_at, validation_rows


def test_the_noised_parameter_by_hand():
    schedule = Schedule(quadratic=16.0, floor=0.01)
    theta, t, noise = torch.tensor([[2.0, -1.0]]), torch.tensor([0.25]), torch.tensor([[0.5, 3.0]])
    alpha = math.exp(-1.0)
    expected = [math.sqrt(alpha) * a + math.sqrt(1 - alpha + 0.01) * z for a, z in ((2, 0.5), (-1, 3))]
    torch.testing.assert_close(diffuse(theta, t, noise, schedule)[0], torch.tensor(expected))


def test_the_loss_by_hand():
    """One hidden unit, all weights set: two rows, two coordinates, mean over all four squares."""
    network = ScoreNetwork(Architecture(2, 1, hidden=(1,), frequencies=1)).double()
    first, last = network.trunk.layers
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]]))
        first.bias.fill_(-1.0)
        last.weight.copy_(torch.tensor([[1.0], [-2.0]]))
        last.bias.copy_(torch.tensor([0.5, 0.25]))
    theta = torch.tensor([[0.3, -0.2], [1.0, 0.4]], dtype=torch.float64)
    x, t = torch.tensor([[0.1], [-0.6]], dtype=torch.float64), torch.tensor([0.2, 0.9], dtype=torch.float64)
    noise = torch.tensor([[1.0, 0.5], [-0.3, 2.0]], dtype=torch.float64)
    squares = []
    for row in range(2):
        time = float(t[row])
        alpha = math.exp(-16 * time**2)
        noised = [
            math.sqrt(alpha) * float(theta[row, i])
            + math.sqrt(1 - alpha + math.exp(-16)) * float(noise[row, i])
            for i in range(2)
        ]
        hidden = (
            noised[0]
            + 2 * noised[1]
            + 3 * float(x[row, 0])
            + 4 * math.cos(math.pi * time)
            + 5 * math.sin(math.pi * time)
        )
        hidden = max(hidden - 1, 0)
        squares += [
            (hidden + 0.5 - float(noise[row, 0])) ** 2,
            (-2 * hidden + 0.25 - float(noise[row, 1])) ** 2,
        ]
    rows = rows_at(theta, x, t, noise, NETWORK, 1)
    assert float(row_losses(network, rows).mean()) == pytest.approx(sum(squares) / 4, rel=1e-12)
    flatten(network)
    assert float(PerceptronGradient(network, 2)(rows)) == pytest.approx(sum(squares) / 4, rel=1e-12)


def test_an_epoch_has_every_row_once_with_its_own_observation():
    theta = torch.arange(50.0)[:, None]
    rows = epoch_rows(theta, theta * 2, Schedule(quadratic=1e-9, floor=0.0), 0, generator())
    # Almost no noise at this schedule: the parameter shows which row it was.
    order = rows.inputs[:, 0].round()
    assert sorted(order.tolist()) == theta[:, 0].tolist()
    assert order.tolist() != theta[:, 0].tolist()
    torch.testing.assert_close(rows.inputs[:, 1], 2 * order)


def test_validation_times_are_spread_evenly_and_rows_repeat():
    theta, draws = torch.arange(20.0)[:, None], 3
    rows = validation_rows(theta, theta * 2, NETWORK, 1, draws, generator())
    t = torch.arccos(rows.inputs[:, 2].double()) / math.pi
    cells = (t.sort().values * 60).floor()
    # In float32 a time may fall on the border of its cell.
    assert float((cells - torch.arange(60)).abs().max()) <= 1
    torch.testing.assert_close(rows.inputs[:, 1].view(draws, 20), (2 * theta[:, 0]).expand(draws, 20))


def test_validation_rows_depend_on_the_generator_only():
    theta = torch.randn(20, 2, generator=generator())
    one, two, other = (validation_rows(theta, theta, NETWORK, 3, 2, generator(s)) for s in (5, 5, 6))
    assert torch.equal(one.inputs, two.inputs)
    assert torch.equal(one.noise, two.noise)
    assert not torch.equal(one.noise, other.noise)


def test_draws_are_averaged_row_by_row():
    network = ScoreNetwork(Architecture(2, 2, hidden=(8,)), generator())
    theta = torch.randn(10, 2, generator=generator(1))
    rows = validation_rows(theta, theta, NETWORK, 3, 4, generator(2))
    separate = row_losses(network, rows)
    torch.testing.assert_close(row_losses(network, rows, 4), separate.view(4, 10).mean(0))
