"""Problems and closed forms that several tests share, written out independently of the package.

The closed forms are numpy or plain torch in float64: nothing calls the code that it is compared with.
"""

import numpy as np
import torch
from hypothesis import settings

from tallsbi.algorithms.base import Problem
from tallsbi.priors.gaussian import Gaussian
from tallsbi.samplers.base import Health
from tallsbi.schedule import TOY
from tallsbi.scores.gaussian import GaussianScore

# From next to the data to pure noise.
TIMES = [1e-5, 1e-4, 1e-3, 0.01, *(i / 20 for i in range(1, 21))]
few_examples = settings(max_examples=60, deadline=None, derandomize=True)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def random_covariance(rng, m, low=0.2, high=5.0):
    """A covariance with random axes and variances between low and high: anisotropic."""
    axes, _ = np.linalg.qr(rng.standard_normal((m, m)))
    variances = np.geomspace(low, high, m) if m > 1 else np.array([high])
    return (axes * variances) @ axes.T


class GaussianCase:
    """B datasets of a Gaussian mean, each with its own prior; everything about it in closed form."""

    def __init__(self, B, n, m, seed=0, schedule=TOY):
        rng = np.random.default_rng([seed, B, n, m])
        self.B, self.n, self.m, self.schedule = B, n, m, schedule
        self.mean = rng.uniform(-2, 2, (B, m))
        self.cov = np.stack([random_covariance(rng, m, 0.5, 4.0) * rng.uniform(0.5, 1.5) for _ in range(B)])
        self.noise = random_covariance(rng, m, 0.3, 3.0)
        theta = self.mean + rng.standard_normal((B, m))
        self.x = theta[:, None] + rng.standard_normal((B, n, m)) @ np.linalg.cholesky(self.noise).T
        self.rng = rng

    def prior(self, dtype=torch.float64):
        return Gaussian(torch.from_numpy(self.mean), torch.from_numpy(self.cov)).to(dtype=dtype)

    def observations(self, dtype=torch.float64):
        return torch.from_numpy(self.x).to(dtype)

    def score(self, dtype=torch.float64):
        return GaussianScore(self.prior(dtype), torch.from_numpy(self.noise).to(dtype), self.schedule)

    def bound(self, dtype=torch.float64):
        return self.score(dtype).bind(self.observations(dtype))

    def problem(self, dtype=torch.float64):
        return Problem(self.score(dtype), self.prior(dtype), self.observations(dtype))

    def single_covariance(self):
        """Covariance of one observation's posterior, [B, m, m]."""
        return np.linalg.inv(np.linalg.inv(self.cov) + np.linalg.inv(self.noise))

    def covariances(self, dtype=torch.float64):
        """The covariances GAUSS wants, [B, n, m, m]."""
        return torch.from_numpy(np.repeat(self.single_covariance()[:, None], self.n, 1)).to(dtype)

    def single_means(self):
        right = (
            self.x @ np.linalg.inv(self.noise)
            + np.linalg.solve(self.cov, self.mean[..., None])[:, None, :, 0]
        )
        return right @ self.single_covariance()

    def posterior(self):
        """Mean [B, m] and covariance [B, m, m] given all n observations."""
        noise_precision = np.linalg.inv(self.noise)
        cov = np.linalg.inv(np.linalg.inv(self.cov) + self.n * noise_precision)
        right = self.x.sum(1) @ noise_precision + np.linalg.solve(self.cov, self.mean[..., None])[..., 0]
        return np.einsum("bij,bj->bi", cov, right), cov

    def states(self, t, S=5):
        """Points a sampler would visit: draws of a somewhat too wide diffused posterior, [B, S, m]."""
        mean, cov = self.posterior()
        spread = 4 * self.schedule.alpha(t) * cov + self.schedule.sigma2(t) * np.eye(self.m)
        z = self.rng.standard_normal((self.B, S, self.m))
        shift = self.schedule.sqrt_alpha(t) * mean[:, None]
        return torch.from_numpy(shift + z @ np.linalg.cholesky(spread).transpose(0, 2, 1))

    def tall_score(self, theta, t):
        """Score of the diffused tall posterior N(sqrt(alpha) mean, alpha cov + sigma^2 I)."""
        mean, cov = self.posterior()
        diffused = self.schedule.alpha(t) * cov + self.schedule.sigma2(t) * np.eye(self.m)
        residual = self.schedule.sqrt_alpha(t) * mean[:, None] - theta.double().numpy()
        return torch.from_numpy(np.linalg.solve(diffused, residual.transpose(0, 2, 1)).transpose(0, 2, 1))


def relative_error(value, exact):
    """Largest error of a vector, relative to its exact length: max |v - e| / |e| over the leading axes."""
    exact = exact.double()
    return float(((value.double() - exact).norm(dim=-1) / exact.norm(dim=-1)).max())


def whitened_covariance(estimated, exact):
    """L^-1 C L^-T of covariances [B, n, m, m], with L L' the exact ones [B, m, m]: the identity for the right ones."""
    factor = torch.linalg.cholesky(torch.from_numpy(exact))[:, None]
    half = torch.linalg.solve_triangular(factor, estimated, upper=False)
    return torch.linalg.solve_triangular(factor, half.mT, upper=False)


def healthy(datasets):
    """The health of runs in which nothing was lost."""
    none, never = torch.zeros(datasets, dtype=torch.int64), torch.full((datasets,), torch.nan)
    return Health(none, never, none, never)


def check_gaussian_draws(draws, mean, cov, *, z, slack=0.0):
    """Sample mean and covariance of draws [S, m] agree with N(mean, cov).

    In whitened coordinates every entry of the sample mean has standard deviation 1 / sqrt(S), of the sample
    covariance sqrt(2 / S) on and 1 / sqrt(S) off the diagonal. Each must lie within z standard deviations,
    plus `slack` for a known bias in units of the posterior's standard deviation. The two-sided tail beyond z
    times the number of entries bounds the false-alarm rate (z = 5: 6e-7 each).
    """
    draws = np.asarray(draws, dtype=np.float64)
    S, m = draws.shape
    white = np.linalg.solve(np.linalg.cholesky(cov), (draws - mean).T).T
    band = z / np.sqrt(S)
    assert np.abs(white.mean(0)).max() < band + slack
    error = np.abs(np.cov(white.T).reshape(m, m) - np.eye(m))
    assert np.diag(error).max() < np.sqrt(2) * band + slack
    assert (error - np.diag(np.diag(error))).max() < band + slack


def linear_law(transition, steps, B, m):
    """Mean [B, m] and covariance [B, m, m] after a linear recursion started at N(0, I).

    transition(t, s) gives A [B, m, m], shift [B, m] and v of theta_s = A theta + shift + sqrt(v) z.
    """
    mean, cov = np.zeros((B, m)), np.tile(np.eye(m), (B, 1, 1))
    for i in range(steps):
        A, shift, v = transition((steps - i) / steps, (steps - i - 1) / steps)
        mean = np.einsum("bij,bj->bi", A, mean) + shift
        cov = A @ cov @ A.transpose(0, 2, 1) + v * np.eye(m)
    return mean, cov


def ddim_law(case, steps, eta):
    """Law of DDIM's output under the exact tall score of a Gaussian case: the textbook step is linear."""
    mean, cov = case.posterior()
    schedule, eye = case.schedule, np.eye(case.m)

    def transition(t, s):
        a_t, a_s = schedule.alpha(t), schedule.alpha(s)
        precision = np.linalg.inv(a_t * cov + schedule.sigma2(t) * eye)
        # score = precision (sqrt(a_t) mean - theta)
        denoise = (eye - (1 - a_t) * precision) / np.sqrt(a_t)
        denoise_shift = (1 - a_t) * np.einsum("bij,bj->bi", precision, mean)
        sd = eta * np.sqrt((1 - a_s) / (1 - a_t) * (1 - a_t / a_s))
        e, e_shift = (
            (eye - np.sqrt(a_t) * denoise) / np.sqrt(1 - a_t),
            -np.sqrt(a_t / (1 - a_t)) * denoise_shift,
        )
        bridge = np.sqrt(max(1 - a_s - sd**2, 0.0))
        return np.sqrt(a_s) * denoise + bridge * e, np.sqrt(a_s) * denoise_shift + bridge * e_shift, sd**2

    return linear_law(transition, steps, case.B, case.m)


def ancestral_law(case, steps):
    """Law of DET_GEF's output: it multiplies n Gaussian reverse kernels and divides by n - 1 others.

    theta_s = theta / sqrt(gamma) + v (sum_j s_j / sqrt(gamma) + (1 - n) s_prior) + sqrt(v) z with
    v = (1 - gamma) / (n - gamma (n - 1)), and every score is linear in theta.
    """
    n, schedule, eye = case.n, case.schedule, np.eye(case.m)
    single, single_means = case.single_covariance(), case.single_means()

    def transition(t, s):
        a_t, root = schedule.alpha(t), schedule.sqrt_alpha(t)
        gamma = a_t / schedule.alpha(s)
        v = (1 - gamma) / (n - gamma * (n - 1))
        P = np.linalg.inv(a_t * single + schedule.sigma2(t) * eye)
        Q = np.linalg.inv(a_t * case.cov + schedule.sigma2(t) * eye)
        A = eye / np.sqrt(gamma) - v * (n * P / np.sqrt(gamma) + (1 - n) * Q)
        pull = np.einsum("bij,bj->bi", P, single_means.sum(1)) / np.sqrt(gamma)
        return A, v * root * (pull + (1 - n) * np.einsum("bij,bj->bi", Q, case.mean)), v

    return linear_law(transition, steps, case.B, case.m)
