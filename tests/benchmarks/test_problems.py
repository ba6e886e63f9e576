"""Problems with known posteriors: the importance sampler against closed forms, and the script that measures."""

import numpy as np
import pytest
import torch

from benchmarks import tall
from benchmarks.exact_posterior import Exact
from benchmarks.problems import problem


def test_importance_sampling_finds_the_closed_form():
    task = problem("gaussian")
    theta, x = task.datasets(1, 30)
    exact = task.exact(theta[0], x[0])
    precision = torch.linalg.inv(0.5 * torch.tensor([[1, 0.8], [0.8, 1]], dtype=torch.float64))
    covariance = torch.linalg.inv(torch.eye(2, dtype=torch.float64) + 30 * precision)
    mean = covariance @ precision @ x[0].double().sum(0)
    deviation = covariance.diagonal().sqrt()
    assert exact.effective > 10_000
    assert np.abs((exact.mean - mean.numpy()) / deviation.numpy()).max() < 0.05
    assert np.abs(exact.deviation / deviation.numpy() - 1).max() < 0.05


@pytest.mark.parametrize("name", ["counts", "poisson", "pharmacokinetic", "student", "bernoulli_glm"])
def test_truth_lies_where_the_posterior_says(name):
    task = problem(name)
    theta, x = task.datasets(3, 30)
    exact = [task.exact(truth, data) for truth, data in zip(theta, x, strict=True)]
    latent = task.prior.to_latent(theta).double().numpy()
    z = np.stack([(t - e.mean) / e.deviation for t, e in zip(latent, exact, strict=True)])
    assert min(e.effective for e in exact) > 5000
    assert np.sqrt(np.square(z).mean()) < 2


def test_fewer_datasets_and_observations_are_the_beginning_of_more():
    task = problem("poisson")
    few, many = task.datasets(2, 5), task.datasets(3, 9)
    assert torch.equal(few[0], many[0][:2])
    assert torch.equal(task.simulations(10)[0], task.simulations(10)[0])


def test_errors_of_shifted_and_wide_draws():
    white = np.random.default_rng(0).standard_normal((2, 100_000, 1))
    exact = [Exact(np.zeros(1), np.ones(1), 1.0)] * 2
    offset, spread, expected = tall.errors(1.5 * white + 0.6, exact)
    assert offset == pytest.approx(0.6, abs=0.02)
    assert spread == pytest.approx(1.5, abs=0.02)
    assert expected == pytest.approx(np.sqrt(1.36) / 1.5, abs=0.02)


def test_unknown_problem_is_named():
    with pytest.raises(ValueError, match="'sri': there are gaussian, sir"):
        problem("sri")
