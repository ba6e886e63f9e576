"""A problem with a known answer and a short training, for the tests of the training."""

import numpy as np
import torch

from tallsbi.training.settings import TrainingSettings

SHORT_TRAINING = TrainingSettings(
    learning_rate=3e-3, batch_size=32, epochs=7, hidden=(16, 16), validate_every=2, validation_draws=2
)


class LinearGaussian:
    """theta ~ N(0, prior), x = theta + N(0, noise): diagonal, so that every score has one line."""

    def __init__(self, prior=(1.0, 4.0), noise=(0.5, 2.0)):
        self.prior, self.noise = np.array(prior), np.array(noise)

    def simulate(self, rows, seed=0, dtype=torch.float32):
        rng = np.random.default_rng(seed)
        theta = rng.standard_normal((rows, len(self.prior))) * np.sqrt(self.prior)
        x = theta + rng.standard_normal(theta.shape) * np.sqrt(self.noise)
        return torch.from_numpy(theta).to(dtype), torch.from_numpy(x).to(dtype)

    def single_score(self, theta, x, t, normaliser, schedule):
        """Score for one normalised theta and x: the posterior is normal, diffused it stays so."""
        latent_x = x.double() * normaliser.x_std + normaliser.x_mean
        gain = torch.from_numpy(self.prior / (self.prior + self.noise))
        variance = gain * torch.from_numpy(self.noise) / normaliser.theta_std**2
        mean = (gain * latent_x - normaliser.theta_mean) / normaliser.theta_std
        return (schedule.sqrt_alpha(t) * mean - theta.double()) / (
            schedule.alpha(t) * variance + schedule.sigma2(t)
        )

    def posterior(self, x):
        """Mean and covariance of the parameter given all rows of x."""
        variance = 1 / (1 / self.prior + len(x) / self.noise)
        return variance * x.sum(0) / self.noise, np.diag(variance)
