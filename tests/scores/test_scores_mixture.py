"""The exact mixture score: Bayes' rule, and score and Jacobian by differentiation."""

import pytest
import torch
from oracles import generator

from tallsbi.schedule import TOY, Schedule
from tallsbi.scores.base import BoundScore
from tallsbi.scores.mixture import MixtureScore

TIMES = [1e-3, 0.05, 0.3, 1.0]


def mixture(m, weights=(0.5, 0.5), dtype=torch.float64):
    spread = torch.linspace(0.6, 1.4, m, dtype=dtype)
    noise = torch.stack([2.25 * spread, spread / 9, 0.7 * spread])[: len(weights)]
    return MixtureScore(torch.tensor(weights, dtype=dtype), noise, TOY)


def points(m, B=2, n=4, S=5, dtype=torch.float64):
    draws = generator(m)
    return torch.randn(B, n, m, generator=draws, dtype=dtype), torch.randn(
        B, S, m, generator=draws, dtype=dtype
    )


def diffused_log_density(score, x, theta, t):
    """log sum_k omega_k(x) N(theta; sqrt(alpha) mean_k, alpha v_k + sigma^2), coordinate by coordinate."""
    evidence = [
        torch.distributions.Normal(0.0, (1 + noise).sqrt()).log_prob(x).sum(-1) + weight.log()
        for weight, noise in zip(score.weights, score.noise, strict=True)
    ]
    omega = torch.log_softmax(torch.stack(evidence, -1), -1)
    components = []
    for noise in score.noise:
        mean, v = x / (1 + noise), noise / (1 + noise)
        spread = (TOY.alpha(t) * v + TOY.sigma2(t)).sqrt()
        law = torch.distributions.Normal(TOY.sqrt_alpha(t) * mean[:, None], spread)
        components.append(law.log_prob(theta).sum(-1))
    return torch.logsumexp(omega[:, None] + torch.stack(components, -1), -1)


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.3, 0.7)])
def test_without_noise_it_is_the_score_of_prior_times_likelihood(weights):
    """At t = 0 and without floor: the weights of the posterior's components follow from Bayes' rule."""
    sharp = Schedule(quadratic=10.0, floor=0.0)
    plain = mixture(2, weights)
    score, (x, theta) = MixtureScore(plain.weights, plain.noise, sharp), points(2)
    theta = theta[:, :, None].repeat(1, 1, 4, 1).requires_grad_()
    components = [
        torch.distributions.Normal(theta, noise.sqrt()).log_prob(x[:, None]).sum(-1) + weight.log()
        for weight, noise in zip(score.weights, score.noise, strict=True)
    ]
    log_joint = torch.logsumexp(torch.stack(components), 0) - 0.5 * theta.square().sum(-1)
    (gradient,) = torch.autograd.grad(log_joint.sum(), theta)
    torch.testing.assert_close(score.bind(x)(theta[:, :, 0].detach(), 0.0), gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.2, 0.3, 0.5)])
def test_score_is_the_gradient_of_the_log_density(weights, t):
    score, (x, theta) = mixture(3, weights), points(3)
    separate = theta[:, :, None].repeat(1, 1, 4, 1).requires_grad_()
    (gradient,) = torch.autograd.grad(diffused_log_density(score, x, separate, t).sum(), separate)
    torch.testing.assert_close(score.bind(x)(theta, t), gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("m", [1, 4])
def test_jacobian_is_the_derivative(m, t):
    score, (x, theta) = mixture(m), points(m)
    bound = score.bind(x)
    scores, jacobian = bound.with_jacobian(theta, t)
    default_scores, default_jacobian = BoundScore.with_jacobian(bound, theta, t)
    torch.testing.assert_close(scores, default_scores, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(jacobian, default_jacobian, rtol=1e-8, atol=1e-8)
    one = torch.func.jacfwd(lambda th: bound(th.expand(2, 1, m), t)[:, 0])(theta[1, 0])
    torch.testing.assert_close(jacobian[1, 0], one[1], rtol=1e-8, atol=1e-8)


def test_jacobian_is_symmetric():
    score, (x, theta) = mixture(4), points(4)
    _, jacobian = score.bind(x).with_jacobian(theta, 0.2)
    torch.testing.assert_close(jacobian, jacobian.mT)


def test_total_is_the_sum():
    score, (x, theta) = mixture(3), points(3)
    bound = score.bind(x)
    torch.testing.assert_close(bound.total(theta, 0.2), bound(theta, 0.2).sum(2))


@pytest.mark.parametrize("t", TIMES)
def test_float32_is_accurate_where_samples_are(t):
    """Responsibilities from an expanded quadratic form: its terms are a few hundred, so 1e-4 must hold."""
    x, theta = points(10, S=50)
    exact = mixture(10).bind(x)(theta, t)
    rounded = mixture(10, dtype=torch.float32).bind(x.float())(theta.float(), t).double()
    assert float((rounded - exact).abs().max()) < 1e-4 * float(exact.abs().max())


def test_nothing_underflows_far_away():
    score, (x, theta) = mixture(3, dtype=torch.float32), points(3, dtype=torch.float32)
    assert bool(score.bind(100 * x)(1000 * theta, 1e-3).isfinite().all())


def test_binding_the_repeated_score_gives_each_observation_alone():
    score, (x, theta) = mixture(3), points(3)
    joint = score.bind(x)(theta, 0.3)
    single = score.repeat(4).bind(x.reshape(-1, 1, 3))(theta.repeat_interleave(4, 0), 0.3)
    torch.testing.assert_close(single.reshape(2, 4, -1, 3).transpose(1, 2), joint)
