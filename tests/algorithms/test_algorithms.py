"""The named algorithms: registry, settings, batching over datasets, and their draws in the Gaussian case."""

from dataclasses import dataclass

import pytest
import torch
from oracles import GaussianCase, check_gaussian_draws, generator

from tallsbi import algorithms
from tallsbi.algorithms import build, load, module_of, names, register
from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.uniform import Uniform
from tallsbi.samplers.base import Noise
from tallsbi.schedule import TOY
from tallsbi.scores.gaussian import GaussianScore
from tallsbi.scores.mixture import MixtureScore
from tallsbi.scores.perturbed import Perturbation, PerturbedScore

PUBLISHED = ["DET_GEF", "GAUSS", "JAC", "LANGEVIN", "TAMED"]
FEW_STEPS = {
    "GAUSS": {"cov_steps": 20, "cov_samples": 60},
    "LANGEVIN": {"inner_steps": 2},
    "TAMED": {"inner_steps": 2},
}


def short_run(name, steps=15):
    return build(name, {"steps": steps, **FEW_STEPS.get(name.removesuffix("-clip"), {})})


def perturbed_problem(case, dtype=torch.float64):
    """Every dataset with its own prior, its own observations and its own network."""
    net = Perturbation.random(case.m, [generator(b) for b in range(case.B)], dtype)
    return Problem(PerturbedScore(case.score(dtype), net, 0.1), case.prior(dtype), case.observations(dtype))


def one_dataset(problem, b):
    """Dataset b of a perturbed problem on its own."""
    exact = problem.score.exact
    prior = Gaussian(problem.prior.mean[b], problem.prior.cov[b])
    net = Perturbation(*(part[b : b + 1] for part in vars(problem.score.perturbation).values()))
    score = PerturbedScore(GaussianScore(prior, exact.noise_cov, exact.schedule), net, problem.score.eps)
    return Problem(score, prior, problem.x[b : b + 1])


def test_every_file_is_an_algorithm():
    assert set(PUBLISHED) <= set(names())
    assert all(issubclass(load(name), Algorithm) for name in names())


@pytest.mark.parametrize("name", PUBLISHED)
def test_names_lead_to_modules(name):
    assert module_of(name) == f"tallsbi.algorithms.{name.lower()}"
    assert load(name) is load(f"{name}-clip")
    assert issubclass(load(name), Algorithm)


@pytest.mark.parametrize("name", PUBLISHED)
def test_clip_suffix_keeps_the_draws_in_the_box(name):
    case = GaussianCase(2, 3, 2)
    case.x += 5
    problem = perturbed_problem(case)
    algorithm = build(f"{name}-clip", {"steps": 15, **FEW_STEPS.get(name, {})}, clip=1.5)
    draws = algorithm.sample(problem, 20, Noise([generator()], torch.float64)).theta
    assert float(draws.abs().max()) == 1.5
    assert build(name, {}).clip is None
    assert build(f"{name}-clip", {}).clip == 3.0


def test_a_wrong_setting_is_explained():
    with pytest.raises(
        ValueError, match=r"methods\.JAC\.tau = 0\.5: JAC has no such setting; it takes steps"
    ):
        build("JAC", {"tau": 0.5})
    with pytest.raises(ValueError, match="clip"):
        build("JAC", {"clip": 2.0})


@pytest.mark.parametrize(
    ("wrong", "meant"), [("GAUS", "GAUSS"), ("langevin", "LANGEVIN"), ("DETGEF", "DET_GEF")]
)
def test_an_unknown_name_suggests_the_nearest(wrong, meant):
    with pytest.raises(ValueError, match=f"did you mean {meant}") as error:
        build(wrong, {})
    assert all(name in str(error.value) for name in PUBLISHED)
    with pytest.raises(ValueError, match="Unknown algorithm 'base'"):
        load("base")


def test_an_algorithm_can_be_registered_on_the_fly(monkeypatch):
    monkeypatch.setattr(algorithms, "_REGISTERED", {})

    @dataclass(frozen=True, kw_only=True)
    class Variant(load("JAC")):
        extra: float = 2.0

    register("MINE", Variant)
    assert "MINE" in names()
    assert load("MINE-clip") is Variant
    assert build("MINE-clip", {"extra": 3.0}).extra == 3.0
    assert module_of("MINE") == Variant.__module__
    with pytest.raises(ValueError, match="exists already"):
        register("JAC", Variant)


def test_cost_in_score_evaluations():
    cost = {name: build(name, {"steps": 400}).score_evaluations for name in PUBLISHED}
    assert cost == {"GAUSS": 430, "JAC": 400, "LANGEVIN": 2000, "TAMED": 2000, "DET_GEF": 400}


def test_churn_follows_the_number_of_steps_unless_given():
    assert build("GAUSS", {"steps": 1000}).churn == 1.0
    assert build("JAC", {"steps": 77}).churn == 0.5
    assert build("JAC", {"steps": 77, "eta": 0.1}).churn == 0.1


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("name", [*PUBLISHED, "GAUSS-clip", "LANGEVIN-clip"])
def test_many_datasets_at_once_equal_one_at_a_time(name, n):
    """The same noise per dataset, GAUSS with its covariance run; equal up to the order of float64 sums."""
    case = GaussianCase(3, n, 2)
    problem = perturbed_problem(case)
    joint = short_run(name).sample(problem, 12, Noise([generator(10 + b) for b in range(3)], torch.float64))
    for b in range(3):
        alone = short_run(name).sample(one_dataset(problem, b), 12, Noise([generator(10 + b)], torch.float64))
        torch.testing.assert_close(joint.theta[b : b + 1], alone.theta, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_same_noise_gives_the_same_draws(name):
    problem = perturbed_problem(GaussianCase(2, 3, 2), torch.float32)
    first, second = (
        short_run(name).sample(problem, 9, Noise([generator(1), generator(2)])).theta for _ in range(2)
    )
    assert torch.equal(first, second)
    assert first.dtype == torch.float32


@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_draws_match_the_tall_posterior_from_end_to_end(name):
    """As configured, with estimated covariances and several priors: 5 standard errors plus a known bias.

    T = 400 steps widen the variance by up to 8 %.
    """
    case = GaussianCase(2, 4, 2)
    algorithm = build(name, {"steps": 400})
    result = algorithm.sample(case.problem(), 800, Noise([generator(1), generator(2)], torch.float64))
    mean, cov = case.posterior()
    for b in range(2):
        check_gaussian_draws(result.theta[b], mean[b], cov[b], z=5, slack=0.09)


@pytest.mark.parametrize("n", [2, 8, 30])
@pytest.mark.parametrize("switch_over", [0.0, 0.5])
def test_gauss_with_a_box_prior_runs_in_float32(n, switch_over):
    """Nothing raises, whatever happens is counted, and clipped draws are finite."""
    noise = torch.tensor([[1.0, 2.0], [0.2, 0.1]])
    score = MixtureScore(torch.full((2,), 0.5), noise, TOY)
    x = torch.randn(2, n, 2, generator=generator())
    box = Uniform(torch.full((2,), -1.7), torch.full((2,), 1.7))
    algorithm = build(
        "GAUSS-clip", {"steps": 50, "cov_samples": 100, "cov_steps": 30, "switch_over": switch_over}
    )
    result = algorithm.sample(Problem(score, box, x), 30, Noise([generator(1), generator(2)]))
    assert bool(result.theta.isfinite().all())
    assert result.health.nonfinite.tolist() == [0, 0]
    counted = result.health.lost_definiteness
    assert bool((result.health.lost_definiteness_time.isnan() == (counted == 0)).all())


@pytest.mark.parametrize("name", ["GAUSS", "JAC", "LANGEVIN", "DET_GEF", "TAMED", "JAC-clip"])
def test_settings_read_off_the_source_are_those_of_the_class(name):
    assert algorithms.settings_of(name) == algorithms.load(name).settings()
