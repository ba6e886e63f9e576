"""Draws without and with clipping in one pass: those of two runs under the same streams."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from oracles import GaussianCase, generator

from tallsbi.algorithms import build, load
from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.jac import Jac
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.uniform import Uniform
from tallsbi.samplers import one_pass
from tallsbi.samplers.base import Noise
from tallsbi.samplers.ddim import DDIM
from tallsbi.samplers.langevin import Langevin
from tallsbi.schedule import NETWORK, TOY
from tallsbi.scores.base import BoundScore
from tallsbi.scores.mixture import MixtureScore
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_eval import NetworkScore
from tallsbi.scores.perturbed import Perturbation, PerturbedScore

SETTINGS = {
    "GAUSS": {"cov_steps": 20, "cov_samples": 60},
    "JAC": {},
    "LANGEVIN": {"inner_steps": 2},
    "TAMED": {"inner_steps": 2},
    "DET_GEF": {},
    "GAUSS_PD": {"cov_steps": 5, "cov_samples": 60},
}


def clipped(name, clip=1.0, steps=15):
    return build(f"{name}-clip", {"steps": steps, **SETTINGS[name]}, clip=clip)


def gaussian_problem(n=3, dtype=torch.float64):
    """Datasets with priors, observations and errors of their own; the first hardly leaves a box, the last does."""
    case = GaussianCase(3, n, 2)
    case.x += 0.8 * np.arange(3)[:, None, None]
    net = Perturbation.random(2, [generator(b) for b in range(3)], dtype)
    score = PerturbedScore(case.score(dtype), net, 0.1)
    return Problem(score, case.prior(dtype), case.observations(dtype))


def network_problem(n=4, dtype=torch.float32):
    network = ScoreNetwork(Architecture(3, 2, hidden=(32, 32)), generator(5)).to(dtype)
    x = torch.randn(4, n, 2, generator=generator(6), dtype=dtype)
    return Problem(NetworkScore(network, NETWORK), Gaussian.standard(3, dtype), x)


def mixture_problem(dtype=torch.float64):
    noise = torch.tensor([[2.25, 2.25], [0.1, 0.1]], dtype=dtype)
    score = MixtureScore(torch.tensor([0.5, 0.5], dtype=dtype), noise, TOY)
    return Problem(
        score, Gaussian.standard(2, dtype), torch.randn(2, 3, 2, generator=generator(3), dtype=dtype)
    )


def streams(problem, shared=False):
    count = 1 if shared else problem.datasets
    return Noise([generator(20 + b) for b in range(count)], problem.x.dtype)


def two_runs(algorithm, problem, samples, shared=False):
    plain = replace(algorithm, clip=None)
    return [variant.sample(problem, samples, streams(problem, shared)) for variant in (plain, algorithm)]


def assert_same_health(ours, theirs):
    for key, value in vars(theirs.health).items():
        torch.testing.assert_close(getattr(ours.health, key), value, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("make", [gaussian_problem, mixture_problem, network_problem])
def test_one_pass_gives_the_draws_of_two_runs(name, make, shared):
    problem, algorithm = make(), clipped(name)
    plain, boxed = algorithm.sample_both(problem, 30, streams(problem, shared))
    plain_alone, boxed_alone = two_runs(algorithm, problem, 30, shared)
    assert torch.equal(plain.theta, plain_alone.theta)
    tolerance = 1e-10 if problem.x.dtype == torch.float64 else 1e-3
    torch.testing.assert_close(boxed.theta, boxed_alone.theta, rtol=tolerance, atol=tolerance)
    assert float(boxed.theta.abs().max()) <= 1.0
    assert not torch.equal(plain.theta, boxed.theta)
    assert_same_health(plain, plain_alone)
    assert_same_health(boxed, boxed_alone)


@pytest.mark.parametrize("name", ["GAUSS", "LANGEVIN"])
def test_the_streams_end_where_those_of_one_run_end(name):
    problem = gaussian_problem()
    ours, theirs = streams(problem), streams(problem)
    clipped(name).sample_both(problem, 10, ours)
    clipped(name).sample(problem, 10, theirs)
    assert torch.equal(ours(3, 4, 2), theirs(3, 4, 2))


def test_one_observation_and_one_sample():
    problem, algorithm = gaussian_problem(n=1), clipped("JAC", clip=0.5)
    both = algorithm.sample_both(problem, 1, streams(problem))
    for ours, theirs in zip(both, two_runs(algorithm, problem, 1), strict=True):
        torch.testing.assert_close(ours.theta, theirs.theta, rtol=1e-10, atol=1e-10)


@dataclass(frozen=True)
class _Elementwise(BoundScore):
    """N(mean, 1) for every observation, coordinate by coordinate: no sum whose order could depend on the batch."""

    means: torch.Tensor
    n: int = 1
    schedule: object = TOY
    evaluated: list = None
    burst: float | None = None

    def __call__(self, theta, t):
        if self.evaluated is not None:
            self.evaluated.append(theta.shape[0] * theta.shape[1])
        score = self.schedule.sqrt_alpha(t) * self.means[:, None] - theta
        if self.burst is not None and t < 0.5:
            score = torch.where(theta.abs() > self.burst, torch.inf, score)
        return score[:, :, None]

    def chosen(self, datasets):
        return replace(self, means=self.means[datasets])


def elementwise(evaluated=None, burst=None, means=(0.0, 2.5)):
    bound = _Elementwise(torch.tensor(means, dtype=torch.float64)[:, None], evaluated=evaluated, burst=burst)
    return FactorisedScore(bound, Gaussian.standard(1, torch.float64), len(means))


def noise(datasets=2):
    return Noise([generator(b) for b in range(datasets)], torch.float64)


def two_sampler_runs(sampler, make_tall, samples):
    """Without and with clipping; every run has a tall score of its own."""
    return [variant.run(make_tall(), samples, noise()) for variant in (replace(sampler, clip=None), sampler)]


@pytest.mark.parametrize("sampler", [DDIM(steps=40, eta=0.7, clip=2.0), Langevin(steps=40, clip=2.0)])
def test_an_elementwise_score_gives_the_same_bits(sampler):
    """Forks never joined: not even rounding is left."""
    both = one_pass.run_both(sampler, elementwise(), 200, noise(), rounding=0.0)
    for ours, theirs in zip(both, two_sampler_runs(sampler, elementwise, 200), strict=True):
        assert torch.equal(ours.theta, theirs.theta)


def test_only_samples_outside_the_box_are_evaluated_twice():
    evaluated = []
    sampler = DDIM(steps=30, eta=0.7, clip=3.0)
    one_pass.run_both(sampler, elementwise(evaluated), 500, noise())
    plain, forks = [k for k in evaluated if k == 1000], [k for k in evaluated if k != 1000]
    assert len(plain) == 30
    assert 0 < sum(forks) < 0.6 * sum(plain)
    never_joined = []
    one_pass.run_both(sampler, elementwise(never_joined), 500, noise(), rounding=0.0)
    assert sum(evaluated) <= sum(never_joined)


def test_forks_join_when_the_flow_brings_them_together():
    """Strong Langevin steps into a narrow posterior forget where they were clipped."""

    @dataclass(frozen=True)
    class Narrow(_Elementwise):
        def __call__(self, theta, t):
            self.evaluated.append(theta.shape[1])
            return (-theta / (self.schedule.one_step_noise(t, t - 0.02)))[:, :, None]

    evaluated = []
    bound = Narrow(torch.zeros(1, 1, dtype=torch.float64), evaluated=evaluated)
    tall = FactorisedScore(bound, Gaussian.standard(1, torch.float64), 1)
    plain, boxed = one_pass.run_both(Langevin(steps=50, clip=2.0), tall, 100, noise(1))
    forks = [k for k in evaluated if k < 100]
    assert forks
    assert sum(forks) < 0.1 * sum(evaluated)
    torch.testing.assert_close(plain.theta, boxed.theta, rtol=0, atol=1e-12)


def test_a_state_that_is_lost_stays_lost_and_an_infinite_one_is_put_on_the_edge():
    sampler = DDIM(steps=20, eta=0.5, clip=1.5)
    make_tall = partial(elementwise, burst=1.6)
    both = one_pass.run_both(sampler, make_tall(), 300, noise())
    for ours, theirs in zip(both, two_sampler_runs(sampler, make_tall, 300), strict=True):
        torch.testing.assert_close(ours.theta, theirs.theta, rtol=1e-12, atol=1e-12, equal_nan=True)
        assert_same_health(ours, theirs)
    assert int(both[0].health.nonfinite.sum()) > 0
    assert int(both[1].health.nonfinite.sum()) == 0


def test_nan_in_both_runs_is_lost_in_both():
    @dataclass(frozen=True)
    class Broken(_Elementwise):
        def __call__(self, theta, t):
            score = super().__call__(theta, t)
            return torch.where((theta > 0.5)[:, :, None] & (t < 0.3), torch.nan, score)

    def tall():
        return FactorisedScore(
            Broken(torch.zeros(2, 1, dtype=torch.float64)), Gaussian.standard(1, torch.float64), 2
        )

    sampler = DDIM(steps=20, eta=0.5, clip=1.0)
    both = one_pass.run_both(sampler, tall(), 100, noise())
    for ours, theirs in zip(both, two_sampler_runs(sampler, tall, 100), strict=True):
        torch.testing.assert_close(ours.theta, theirs.theta, rtol=1e-12, atol=1e-12, equal_nan=True)
        assert_same_health(ours, theirs)
    assert int(both[1].health.nonfinite.sum()) > 0


@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_lost_definiteness_is_counted_for_each_run(name):
    """The box makes a difference to where weights are not positive definite."""
    case = GaussianCase(2, 6, 2)
    prior = Uniform(torch.full((2,), -1.0), torch.full((2,), 1.0)).to(dtype=torch.float64)
    net = Perturbation.random(2, [generator(b) for b in range(2)], torch.float64)
    problem = Problem(
        PerturbedScore(case.score(torch.float64), net, 2.0), prior, case.observations(torch.float64)
    )
    algorithm = clipped(name, clip=0.7)
    both = algorithm.sample_both(problem, 40, streams(problem))
    alone = two_runs(algorithm, problem, 40)
    counts = [int(run.health.lost_definiteness.sum()) for run in alone]
    assert max(counts) > 0
    for ours, theirs in zip(both, alone, strict=True):
        assert_same_health(ours, theirs)


def test_a_score_that_has_no_datasets_of_its_own_gets_two_runs():
    class Foreign(BoundScore):
        n, schedule = 1, TOY

        def __call__(self, theta, t):
            return (0.3 - theta)[:, :, None]

    def tall():
        return FactorisedScore(Foreign(), Gaussian.standard(1, torch.float64), 2)

    assert Foreign().chosen(torch.zeros(1, dtype=torch.int64)) is None
    sampler = DDIM(steps=10, eta=0.5, clip=0.5)
    both = one_pass.run_both(sampler, tall(), 50, noise())
    for ours, theirs in zip(both, two_sampler_runs(sampler, tall, 50), strict=True):
        assert torch.equal(ours.theta, theirs.theta)


def test_an_algorithm_that_draws_in_its_own_way_gets_two_runs():
    class Shifted(Jac):
        def sample(self, problem, samples, noise, progress=iter):
            run = super().sample(problem, samples, noise, progress)
            return replace(run, theta=run.theta + 1)

    problem = gaussian_problem()
    algorithm = Shifted(steps=10, clip=1.0)
    both = algorithm.sample_both(problem, 5, streams(problem))
    for ours, theirs in zip(both, two_runs(algorithm, problem, 5), strict=True):
        assert torch.equal(ours.theta, theirs.theta)


def test_without_a_box_there_are_not_two_runs():
    problem = gaussian_problem()
    for name in ("JAC", "GAUSS_PD", "CLT"):
        with pytest.raises(ValueError, match="clip=None"):
            load(name)().sample_both(problem, 5, streams(problem))


@pytest.mark.parametrize("counts", [[0, 3, 0], [1, 1, 1], [100, 0, 2], [5], [0, 1000, 999, 3]])
def test_forks_find_their_rows_and_back(counts):
    samples = 1000
    places = torch.cat(
        [b * samples + torch.randperm(samples)[:k].sort().values for b, k in enumerate(counts)]
    )
    layout = one_pass._Layout.of(places, len(counts), samples)
    values = torch.randn(len(places), 2)
    rows = layout.packed(values)
    assert torch.equal(layout.unpacked(rows), values)
    assert torch.equal(layout.datasets[layout.row], places // samples)
    assert rows.shape[0] * rows.shape[1] <= 1.5 * len(places) + 16
