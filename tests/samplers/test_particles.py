"""Tempered particles against posteriors in closed form."""

import torch

from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.uniform import Uniform
from tallsbi.samplers.base import Noise
from tallsbi.samplers.particles import Particles, temper

COUNT = 1500


def drawn(prior, likelihood, datasets=2, seeds=(1, 2)):
    start = torch.stack(
        [prior.sample(COUNT, torch.Generator().manual_seed(10 + i)).float() for i in range(datasets)]
    )
    noise = Noise([torch.Generator().manual_seed(seed) for seed in seeds[:datasets]])
    posterior = lambda q: likelihood(q) + prior.log_prob(q)  # noqa: E731
    return temper(Particles(start, posterior, prior.log_prob, noise), moves=6, last_moves=20)


def test_narrow_correlated_gaussian_likelihood_in_ten_dimensions():
    m = 10
    prior = Gaussian.standard(m)
    steps = torch.arange(m)
    noise = 0.8 ** (steps[:, None] - steps).abs() * 1e-3
    precision = torch.linalg.inv(noise)
    data = torch.linspace(-1, 1, m)

    def likelihood(theta):
        return -0.5 * (((theta - data) @ precision) * (theta - data)).sum(-1)

    theta = drawn(prior, likelihood)
    exact = torch.linalg.inv(precision + torch.eye(m))
    mean = exact @ precision @ data
    offset = (theta.mean(1) - mean) / exact.diagonal().sqrt()
    assert offset.abs().max() < 0.25
    assert ((theta.std(1) / exact.diagonal().sqrt()).log().abs() < 0.15).all()


def test_two_modes_keep_their_weights():
    prior = Uniform(torch.tensor([-3.0]), torch.tensor([3.0]))
    theta = drawn(prior, lambda q: -0.5 * ((q[..., 0].abs() - 1.5) / 0.05) ** 2)
    assert ((theta[..., 0] > 0).float().mean(1) - 0.5).abs().max() < 0.08
    assert (theta.abs().std(1) / 0.05 - 1).abs().max() < 0.15


def test_posterior_at_a_bound_stays_inside():
    prior = Uniform(torch.tensor([0.0]), torch.tensor([1.0]))
    theta = drawn(prior, lambda q: -q[..., 0] / 0.02)
    assert (theta >= 0).all()
    assert ((theta.mean(1) / 0.02) - 1).abs().max() < 0.15


def test_likelihood_that_is_nowhere_finite_ends():
    prior = Gaussian.standard(2)
    assert drawn(prior, lambda q: torch.full(q.shape[:2], torch.nan)).isfinite().all()


def test_dataset_has_a_stream_of_its_own():
    prior = Gaussian.standard(2)

    def alone(start, seed):
        noise = Noise([torch.Generator().manual_seed(seed)])
        posterior = lambda q: -0.5 * (q - 1).square().sum(-1) / 0.01 + prior.log_prob(q)  # noqa: E731
        return temper(Particles(start, posterior, prior.log_prob, noise), 6, 20)

    start = torch.stack([prior.sample(COUNT, torch.Generator().manual_seed(10 + i)) for i in range(2)])
    joint = drawn(prior, lambda q: -0.5 * (q - 1).square().sum(-1) / 0.01)
    # Batched products round otherwise than single ones, and particles that nearly tie part.
    assert torch.allclose(joint[1:].mean(1), alone(start[1:], 2).mean(1), atol=0.01)
