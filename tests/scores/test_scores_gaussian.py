"""The exact Gaussian score against the gradient of its diffused log density."""

import pytest
import torch
from oracles import GaussianCase

from tallsbi.scores.base import BoundScore

TIMES = [1e-4, 1e-2, 0.1, 0.5, 1.0]


def diffused_log_density(case, theta, t):
    """log N(theta; sqrt(alpha) mean_j, alpha V + sigma^2 I) summed over everything."""
    eye = torch.eye(case.m, dtype=torch.float64)
    cov = case.schedule.alpha(t) * torch.from_numpy(case.single_covariance()) + case.schedule.sigma2(t) * eye
    mean = case.schedule.sqrt_alpha(t) * torch.from_numpy(case.single_means())
    law = torch.distributions.MultivariateNormal(mean[:, None], cov[:, None, None])
    return law.log_prob(theta)  # theta [B, S, n, m]


@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("m", [1, 3])
def test_score_is_the_gradient_of_the_log_density(m, t):
    case = GaussianCase(2, 4, m)
    theta = case.states(t)
    separate = theta[:, :, None].repeat(1, 1, case.n, 1).requires_grad_()
    (gradient,) = torch.autograd.grad(diffused_log_density(case, separate, t).sum(), separate)
    torch.testing.assert_close(case.bound()(theta, t), gradient, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("t", TIMES)
def test_total_is_the_sum(t):
    case = GaussianCase(3, 5, 2)
    bound, theta = case.bound(), case.states(t)
    torch.testing.assert_close(bound.total(theta, t), bound(theta, t).sum(2), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("t", TIMES)
def test_jacobian_is_the_derivative(t):
    case = GaussianCase(2, 3, 3)
    bound, theta = case.bound(), case.states(t)
    scores, jacobian = bound.with_jacobian(theta, t)
    default_scores, default_jacobian = BoundScore.with_jacobian(bound, theta, t)
    torch.testing.assert_close(scores, default_scores)
    torch.testing.assert_close(jacobian, default_jacobian)
    one = torch.func.jacfwd(lambda th: bound(th.expand(2, 1, 3), t)[:, 0])(theta[1, 0])
    torch.testing.assert_close(jacobian[1, 0], one[1])


def test_binding_the_repeated_score_gives_each_observation_alone():
    case = GaussianCase(3, 4, 2)
    theta = case.states(0.3)
    joint = case.bound()(theta, 0.3)
    single = case.score().repeat(case.n).bind(case.observations().reshape(-1, 1, case.m))
    scores = single(theta.repeat_interleave(case.n, 0), 0.3).reshape(case.B, case.n, -1, case.m)
    torch.testing.assert_close(scores.transpose(1, 2), joint)


def test_calling_the_score_binds_it():
    case = GaussianCase(2, 3, 2)
    theta = case.states(0.2)
    torch.testing.assert_close(case.score()(theta, case.observations(), 0.2), case.bound()(theta, 0.2))


@pytest.mark.parametrize("t", TIMES)
def test_float32_is_float64_rounded(t):
    """Error of a difference of two products with the precision: a few float32 roundings of the larger."""
    case = GaussianCase(2, 4, 3)
    theta = case.states(t)
    exact, bound = case.bound()(theta, t), case.bound(torch.float32)
    scale = (bound.precision(t).norm(dim=(1, 2))[:, None, None] * theta.norm(dim=-1, keepdim=True))[..., None]
    assert bool(((bound(theta.float(), t).double() - exact).abs() < 2e-6 * (1 + scale)).all())
