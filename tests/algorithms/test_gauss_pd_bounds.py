"""Algorithms that ask for the true prior get it, whatever the factor on the bounds; the others do not."""

from dataclasses import dataclass

import pytest
import torch
from oracles import generator

from tallsbi.algorithms import build
from tallsbi.algorithms.jac import Jac
from tallsbi.api.engine import NetworkEngine
from tallsbi.priors.uniform import Uniform
from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.scores.normaliser import Normaliser

PRIOR = Uniform(torch.tensor([-3.0, 0.1]), torch.tensor([3.0, 7.7]))


@pytest.fixture
def engine():
    """An untrained network: its draws are anywhere."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = ScoreNetwork(Architecture(theta_dim=2, x_dim=3, hidden=(16, 16)))
    theta = PRIOR.sample(500, generator())
    x = torch.randn(500, 3, generator=generator(1))
    saved = SavedNetwork(network, Normaliser.fit(theta, x), NETWORK, "none", torch.zeros(1))
    return NetworkEngine(saved, PRIOR, bounds_factor=2.0)


@pytest.mark.parametrize("name", ["GAUSS_PD", "JAC_PD"])
@pytest.mark.parametrize("n", [1, 6])
def test_draws_are_inside_the_true_prior(engine, name, n):
    """Strictly: also after scaling back from float32."""
    x = torch.randn(2, n, 3, generator=generator(2), dtype=torch.float64)
    settings = {"steps": 15, **({"cov_steps": 10, "cov_samples": 20} if name == "GAUSS_PD" else {})}
    run = engine.sample(build(name, settings), x, 200, [generator(3)])
    assert bool(PRIOR.to(dtype=torch.float64).log_prob(run.theta).isfinite().all())
    assert run.health.lost_definiteness.tolist() == [0, 0]


@pytest.mark.parametrize("asks", [True, False])
def test_the_factor_reaches_those_that_do_not_ask_for_the_true_prior(engine, asks):
    priors = []

    @dataclass(frozen=True, kw_only=True)
    class Spy(Jac):
        true_prior = asks

        def sample(self, problem, samples, noise, progress=iter):
            priors.append(problem.prior)
            return super().sample(problem, samples, noise, progress)

    engine.sample(Spy(steps=2), torch.zeros(1, 1, 3, dtype=torch.float64), 3, [generator()])
    normaliser = engine.saved.normaliser
    true = (PRIOR.high - normaliser.theta_mean) / normaliser.theta_std
    torch.testing.assert_close(priors[0].high.double(), (1 if asks else 2) * true, rtol=1e-5, atol=1e-5)
