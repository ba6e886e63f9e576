"""The uniform prior: diffused score and backward precision against quadrature and differentiation."""

import mpmath
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import few_examples, generator

from tallsbi.priors.uniform import Uniform
from tallsbi.schedule import NETWORK, TOY

LOW, HIGH = -1.0, 2.5
POINTS = {
    "inside": 0.3,
    "near the edge": 2.49,
    "at the lower edge": LOW,
    "at the upper edge": HIGH,
    "just outside": 2.6,
    "far outside": 12.0,
    "far below": -40.0,
}


def box(dtype=torch.float64):
    return Uniform(torch.tensor([LOW], dtype=dtype), torch.tensor([HIGH], dtype=dtype))


def quadrature(theta, t, schedule):
    """Score, log density and backward variance of theta_t by numerical integration over theta_0."""
    with mpmath.workdps(30):
        root, sigma2 = mpmath.mpf(schedule.sqrt_alpha(t)), mpmath.mpf(schedule.sigma2(t))
        theta = mpmath.mpf(theta)
        peak = min(max(theta / root, mpmath.mpf(LOW)), mpmath.mpf(HIGH))
        # The integrand falls by exp(-1) over `width`; the pieces follow it down to exp(-60).
        slope = abs(theta - root * peak) * root / sigma2
        width = 1 / (slope + root / mpmath.sqrt(sigma2))
        steps = [width * step for step in (1, 3, 8, 20, 60)]
        ends = {mpmath.mpf(LOW), mpmath.mpf(HIGH), peak}
        ends |= {peak + step for step in steps} | {peak - step for step in steps}
        ends = sorted(e for e in ends if LOW <= e <= HIGH)
        top = (theta - root * peak) ** 2 / (2 * sigma2)

        def moment(f):
            return mpmath.quad(
                lambda z: f(z) * mpmath.exp(top - (theta - root * z) ** 2 / (2 * sigma2)), ends
            )

        mass = moment(lambda z: 1)
        # Moments about the peak: no digits lost where the kernel is narrow.
        mean = moment(lambda z: z - peak) / mass
        variance = moment(lambda z: (z - peak - mean) ** 2) / mass
        score = (root * (peak + mean) - theta) / sigma2
        log_density = mpmath.log(mass) - top - mpmath.log((HIGH - LOW) * mpmath.sqrt(2 * mpmath.pi * sigma2))
        return score, log_density, variance


@pytest.mark.parametrize("t", [1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("where", POINTS)
def test_score_density_and_variance_are_the_integrals(where, t):
    """Relative error 1e-10 from t = 1e-4 to 1, inside, on the edge of and far outside the box."""
    prior, theta = box(), torch.tensor([[[POINTS[where]]]], dtype=torch.float64)
    score, log_density, variance = quadrature(POINTS[where], t, NETWORK)
    value = float(prior.diffused_score(theta, t, NETWORK))
    # Inside the box the score can vanish: compare with its natural size there, 1 / sigma.
    assert abs(value - score) <= 1e-10 * max(abs(score), 1e-3 / NETWORK.sigma(t))
    assert float(prior.diffused_log_prob(theta, t, NETWORK)) == pytest.approx(float(log_density), rel=1e-10)
    precision = float(prior.backward_precision(theta, t, NETWORK))
    assert precision == pytest.approx(float(1 / variance), rel=1e-9)


@few_examples
@given(st.floats(0.005, 1), st.floats(-4, 6))
def test_score_is_the_gradient_of_the_log_density(t, point):
    prior = box()
    theta = torch.tensor([[[point]]], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(prior.diffused_log_prob(theta, t, TOY).sum(), theta)
    score = float(prior.diffused_score(theta.detach(), t, TOY))
    assert float(gradient) == pytest.approx(score, rel=1e-8, abs=1e-8)


@few_examples
@given(st.floats(0.05, 0.5), st.floats(-1.5, 3))
def test_precision_is_the_jacobian_formula(t, point):
    """(alpha / sigma^2) / (1 + sigma^2 J), in float64 and at times where this formula keeps its digits."""
    prior, theta = box(), torch.tensor([[[point]]], dtype=torch.float64)
    _, jacobian = torch.func.jvp(
        lambda th: prior.diffused_score(th, t, TOY), (theta,), (torch.ones_like(theta),)
    )
    expected = TOY.alpha(t) / TOY.sigma2(t) / (1 + TOY.sigma2(t) * float(jacobian))
    assert float(prior.backward_precision(theta, t, TOY)) == pytest.approx(expected, rel=1e-6)


@few_examples
@given(st.floats(1e-6, 1), st.floats(-1e6, 1e6), st.sampled_from([torch.float32, torch.float64]))
def test_excess_precision_is_never_negative(t, point, dtype):
    score, excess = box(dtype).score_and_excess(torch.full((1, 1, 1), point, dtype=dtype), t, NETWORK)
    assert bool((excess >= 0).all())
    assert bool(score.isfinite().all() and excess.isfinite().all())


@few_examples
@given(st.floats(0.01, 1), st.floats(-4, 6))
def test_float32_agrees_with_float64(t, point):
    """The moments are float64 whatever the input, so only the input and the result are rounded."""
    theta = torch.full((1, 1, 1), point, dtype=torch.float32)
    single, double = (box(d).score_and_excess(theta.to(d), t, TOY) for d in (torch.float32, torch.float64))
    torch.testing.assert_close(single[0].double(), double[0], rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(single[1].double(), double[1], rtol=1e-6, atol=1e-12)


def test_coordinates_are_independent():
    prior = Uniform(torch.tensor([0.0, -3.0]), torch.tensor([1.0, 4.0]))
    theta = torch.randn(2, 5, 2, generator=generator())
    score, excess = prior.score_and_excess(theta, 0.2, TOY)
    for i in range(2):
        alone = Uniform(prior.low[i : i + 1], prior.high[i : i + 1])
        s, e = alone.score_and_excess(theta[..., i : i + 1], 0.2, TOY)
        torch.testing.assert_close(score[..., i : i + 1], s)
        torch.testing.assert_close(excess[..., i, i], e[..., 0, 0])
    assert bool((excess[..., 0, 1] == 0).all())


def test_log_prob_is_scipys():
    prior = Uniform(torch.tensor([0.0, -3.0]), torch.tensor([1.0, 4.0]))
    theta = torch.tensor([[0.5, 0.0], [1.0, 4.0], [1.1, 0.0], [0.5, -3.1]])
    expected = scipy.stats.uniform.logpdf(theta.numpy(), [0, -3], [1, 7]).sum(-1)
    assert prior.log_prob(theta).numpy() == pytest.approx(expected, rel=1e-6)
    assert prior.log_prob(theta[0]).shape == ()


def test_normalised_is_the_prior_of_the_standardised_parameter():
    prior, mean, std = (
        box(),
        torch.tensor([0.7], dtype=torch.float64),
        torch.tensor([1.3], dtype=torch.float64),
    )
    theta = torch.linspace(-2, 3, 11, dtype=torch.float64)[:, None]
    shifted = prior.normalised(mean, std).log_prob((theta - mean) / std) - std.log()
    torch.testing.assert_close(shifted, prior.log_prob(theta))


def test_draws_fill_the_box():
    """Kolmogorov-Smirnov, fixed seed; a correct sampler fails once in 10^4 seeds."""
    draws = box().sample(4000, generator(1))[:, 0].numpy()
    assert scipy.stats.kstest(draws, scipy.stats.uniform(LOW, HIGH - LOW).cdf).pvalue > 1e-4


def test_support_and_widened_bounds():
    low, high = box().widened(2.0).support()
    assert (float(low), float(high)) == (2 * LOW, 2 * HIGH)


def test_an_empty_box_is_refused():
    with pytest.raises(ValueError, match="lower bound"):
        Uniform(torch.tensor([1.0]), torch.tensor([1.0]))
