"""The perturbed score: the network evaluated plainly, its bound, its Jacobian, and its blocks."""

import math

import pytest
import torch
from oracles import GaussianCase, generator

from tallsbi.scores import perturbed as module
from tallsbi.scores.base import BoundScore
from tallsbi.scores.perturbed import Perturbation, PerturbedScore

EPS = 0.3
TIMES = [1e-3, 0.1, 0.7, 1.0]


def setup(B=3, n=4, m=2, dtype=torch.float64):
    case = GaussianCase(B, n, m)
    net = Perturbation.random(m, [generator(b) for b in range(B)], dtype)
    return case, net, PerturbedScore(case.score(dtype), net, EPS)


def network(net, b, theta, x, t):
    """r(theta, x, t) of dataset b for one theta and one x, written as two layers on [theta, x, t]."""
    first = torch.cat([net.w_theta[b], net.w_x[b], net.w_t[b][None]])
    hidden = torch.relu(torch.cat([theta, x, theta.new_tensor([t])]) @ first + net.bias[b])
    return torch.tanh(hidden @ net.w_out[b] + net.bias_out[b])


@pytest.mark.parametrize("t", TIMES)
def test_the_error_is_the_network_over_sigma(t):
    case, net, score = setup()
    theta, x = case.states(t), case.observations()
    difference = score.bind(x)(theta, t) - case.bound()(theta, t)
    for b in range(case.B):
        for s in range(theta.shape[1]):
            for j in range(case.n):
                expected = -EPS / case.schedule.sigma(t) * network(net, b, theta[b, s], x[b, j], t)
                torch.testing.assert_close(difference[b, s, j], expected, rtol=1e-6, atol=1e-9 / t)


@pytest.mark.parametrize("t", TIMES)
def test_the_noise_predictor_is_off_by_at_most_eps(t):
    case, _, score = setup(m=3)
    theta = 10 * case.states(t)
    difference = score.bind(case.observations())(theta, t) - case.bound()(theta, t)
    off = case.schedule.sigma(t) * difference.abs()
    assert 0 < float(off.max()) <= EPS * (1 + 1e-9)


@pytest.mark.parametrize("t", TIMES)
def test_total_is_the_sum(t):
    case, _, score = setup()
    bound, theta = score.bind(case.observations()), case.states(t)
    torch.testing.assert_close(bound.total(theta, t), bound(theta, t).sum(2), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("t", TIMES)
def test_jacobian_is_the_derivative(t):
    case, _, score = setup(m=3)
    bound, theta = score.bind(case.observations()), case.states(t)
    scores, jacobian = bound.with_jacobian(theta, t)
    default_scores, default_jacobian = BoundScore.with_jacobian(bound, theta, t)
    torch.testing.assert_close(scores, default_scores)
    torch.testing.assert_close(scores, bound(theta, t))
    torch.testing.assert_close(jacobian, default_jacobian, rtol=1e-8, atol=1e-8)
    one = torch.func.jacfwd(lambda th: bound(th.expand(3, 1, 3), t)[:, 0])(theta[1, 0])
    torch.testing.assert_close(jacobian[1, 0], one[1], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("chunk", [1, 50, 137, 10**9])
def test_the_size_of_the_blocks_does_not_matter(monkeypatch, chunk):
    case, _, score = setup(B=5, n=4, m=2)
    theta, bound = case.states(0.4, S=7), score.bind(case.observations())
    expected = bound(theta, 0.4), bound.total(theta, 0.4), *bound.with_jacobian(theta, 0.4)
    monkeypatch.setattr(module, "_HIDDEN_AT_ONCE", chunk)
    blocked = bound(theta, 0.4), bound.total(theta, 0.4), *bound.with_jacobian(theta, 0.4)
    for one, other in zip(expected, blocked, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_the_exact_score_is_left_alone():
    case, _, score = setup()
    theta, exact = case.states(0.4), case.bound()
    before = exact.with_jacobian(theta, 0.4)
    score.bind(case.observations()).with_jacobian(theta, 0.4)
    for one, other in zip(before, exact.with_jacobian(theta, 0.4), strict=True):
        assert torch.equal(one, other)


def test_binding_the_repeated_score_gives_each_observation_alone():
    case, _, score = setup()
    theta, x = case.states(0.3), case.observations()
    single = score.repeat(case.n).bind(x.reshape(-1, 1, case.m))
    scores = single(theta.repeat_interleave(case.n, 0), 0.3).reshape(case.B, case.n, -1, case.m)
    torch.testing.assert_close(scores.transpose(1, 2), score.bind(x)(theta, 0.3))


def test_weights_are_uniform_with_the_usual_bounds():
    """Bounds 1 / sqrt(fan in), nearly reached, and as many negative as positive (five standard errors)."""
    m = 8
    net = Perturbation.random(m, [generator(b) for b in range(20)], torch.float64)
    first = torch.cat([net.w_theta.flatten(), net.w_x.flatten(), net.w_t.flatten(), net.bias.flatten()])
    second = torch.cat([net.w_out.flatten(), net.bias_out.flatten()])
    for weights, fan_in in ((first, 2 * m + 1), (second, 5 * m)):
        bound = 1 / math.sqrt(fan_in)
        assert 0.99 * bound < float(weights.abs().max()) <= bound
        assert abs(float(weights.mean())) < 5 * bound / math.sqrt(3 * weights.numel())
    assert net.w_theta.shape == (20, m, 5 * m)


def test_a_network_depends_on_its_own_generator_only():
    alone = Perturbation.random(2, [generator(7)])
    among = Perturbation.random(2, [generator(1), generator(7), generator(3)])
    assert torch.equal(alone.w_x[0], among.w_x[1])
    assert torch.equal(alone.bias_out[0], among.bias_out[1])
