"""Capped precisions: unchanged below the prior, positive for whatever covariance, n and time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import few_examples, generator, random_covariance

from tallsbi.compose.gauss_pd import GaussPDScore
from tallsbi.compose.jac_pd import JacPDScore
from tallsbi.compose.loewner import bind_blocks, gains
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.uniform import Uniform
from tallsbi.samplers.base import Noise
from tallsbi.samplers.multistep import Multistep
from tallsbi.schedule import NETWORK, TOY
from tallsbi.scores.base import BoundScore, Score


def random_prior(rng, kind, m):
    if kind == "gaussian":
        return Gaussian(
            torch.from_numpy(rng.normal(size=m)), torch.from_numpy(random_covariance(rng, m, 1e-2, 5))
        )
    if kind == "lognormal":
        return LogNormal(torch.from_numpy(rng.normal(size=m)), torch.from_numpy(rng.uniform(0.1, 2, m)))
    low = rng.normal(size=m)
    return Uniform(torch.from_numpy(low), torch.from_numpy(low + rng.uniform(0.1, 5, m)))


def random_covariances(rng, n, m):
    """From a billionth to a thousand times the unit, and as ill-conditioned."""
    low, high = np.sort(10.0 ** rng.uniform(-9, 3, (2, n)), axis=0)
    return np.stack([random_covariance(rng, m, a, b) for a, b in zip(low, high, strict=True)])


class WildScore(Score):
    """Not the score of anything: errors of the size of the noise and Jacobians that are not symmetric."""

    def __init__(self, dim, schedule, seed):
        self.dim, self.schedule, self.seed = dim, schedule, seed

    def bind(self, x):
        return _Wild(self, x)


class _Wild(BoundScore):
    def __init__(self, score, x):
        self.x, self.n, self.schedule = x, x.shape[1], score.schedule
        self.mix = torch.randn(score.dim, score.dim, generator=generator(score.seed), dtype=x.dtype)

    def __call__(self, theta, t):
        bent = torch.tanh(theta @ self.mix)[:, :, None] + torch.sin(7 * self.x)[:, None]
        return (
            self.schedule.sqrt_alpha(t) * self.x[:, None] - theta[:, :, None] + bent
        ) / self.schedule.sigma2(t)


@given(seed=st.integers(0, 2**31), m=st.integers(1, 6))
@few_examples
def test_a_covariance_below_the_prior_keeps_its_inverse(seed, m):
    rng = np.random.default_rng(seed)
    prior = random_covariance(rng, m, 0.1, 3)
    narrower = np.linalg.inv(np.linalg.inv(prior) + np.linalg.inv(random_covariance(rng, m, 0.01, 10)))
    root = np.linalg.inv(np.linalg.cholesky(prior)).T  # any root serves: root root' is the inverse
    relative = root.T @ narrower @ root
    gain = gains(torch.from_numpy(relative), torch.from_numpy(root), 1e-9).numpy()
    expected = np.linalg.inv(narrower)
    assert np.abs(gain + np.linalg.inv(prior) - expected).max() < 1e-8 * np.abs(expected).max()


def test_caps_apply_to_the_eigenvalues_of_the_symmetric_part():
    skew = torch.tensor([[0.0, 5.0], [-5.0, 0.0]], dtype=torch.float64)
    relative = torch.diag(torch.tensor([4.0, -1.0], dtype=torch.float64)) + skew
    gain = gains(relative, torch.eye(2, dtype=torch.float64), 0.01)
    torch.testing.assert_close(gain, torch.diag(torch.tensor([0.0, 99.0], dtype=torch.float64)))
    loose = gains(relative, torch.eye(2, dtype=torch.float64), 0.01, 0.5)
    torch.testing.assert_close(loose, torch.diag(torch.tensor([1.0, 99.0], dtype=torch.float64)))


def test_what_is_not_finite_stays_so_and_alone():
    relative = torch.stack([torch.full((2, 2), torch.nan), 0.5 * torch.eye(2)])
    gain = gains(relative, torch.eye(2)[None], 1e-3)
    assert bool(gain[0].isnan().all())
    torch.testing.assert_close(gain[1], torch.eye(2))
    with pytest.raises(ValueError, match="widest=2"):
        gains(relative, torch.eye(2)[None], 1e-3, 2.0)


@given(
    seed=st.integers(0, 2**31),
    n=st.sampled_from([2, 3, 10, 100, 1000]),
    m=st.integers(1, 5),
    kind=st.sampled_from(["gaussian", "lognormal", "uniform"]),
    schedule=st.sampled_from([TOY, NETWORK]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
@few_examples
def test_gauss_pd_is_positive_definite_for_every_covariance_prior_n_and_t(seed, n, m, kind, schedule, dtype):
    """Lambda >= the prior's own precision over the whole grid, and the draws of a run are finite."""
    rng = np.random.default_rng(seed)
    prior = random_prior(rng, kind, m).to(dtype=dtype)
    covariances = torch.from_numpy(random_covariances(rng, n, m))[None]
    x = torch.from_numpy(3 * rng.standard_normal((1, n, m))).to(dtype)
    blocks = bind_blocks(WildScore(m, schedule, seed), x, 300)
    tall = GaussPDScore(blocks, prior, covariances, dtype)
    narrowest_precision = 1 / float(torch.linalg.eigvalsh(prior.covariance()).max())
    for t in [*Multistep(steps=50).grid(schedule)[:-1], *(i / 20 for i in range(1, 21)), 1e-6]:
        prior_precision = narrowest_precision + schedule.alpha(t) / schedule.sigma2(t)
        largest = float(tall.eigenvalues(t).max())
        # The sum over n is rounded relative to its largest eigenvalue.
        assert float(tall.eigenvalues(t).min()) >= prior_precision - 1e-12 * largest, t
        assert float(tall.eigenvalues(t).min()) > 0, t
    run = Multistep(steps=12, churn=0.5).run(tall, 4, Noise([generator(seed)], dtype))
    assert bool(run.theta.isfinite().all())
    assert run.health.lost_definiteness.tolist() == run.health.nonfinite.tolist() == [0]


@given(
    seed=st.integers(0, 2**31),
    n=st.sampled_from([2, 3, 10, 100, 1000]),
    m=st.integers(1, 4),
    kind=st.sampled_from(["gaussian", "lognormal", "uniform"]),
    schedule=st.sampled_from([TOY, NETWORK]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
@settings(few_examples, max_examples=25)
def test_jac_pd_is_positive_definite_for_every_jacobian_prior_n_and_t(seed, n, m, kind, schedule, dtype):
    """Jacobians of no score, at the states that a run with them visits."""
    rng = np.random.default_rng(seed)
    prior = random_prior(rng, kind, m).to(dtype=dtype)
    x = torch.from_numpy(3 * rng.standard_normal((1, n, m))).to(dtype)
    tall = JacPDScore(bind_blocks(WildScore(m, schedule, seed), x, 300), prior, 1)
    run = Multistep(steps=12, churn=1.0).run(tall, 2, Noise([generator(seed)], dtype))
    assert bool(run.theta.isfinite().all())
    assert run.health.lost_definiteness.tolist() == run.health.nonfinite.tolist() == [0]
