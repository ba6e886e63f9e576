"""The numbers for the exact claims: laws against draws, counts against what is known, modes of a known posterior."""

import numpy as np
import pytest
import torch
from settings import MODEL, methods

from tallsbi.samplers.base import Noise
from tallsbi.samplers.ddim import DDIM
from tallsbi.samplers.det_gef import DetGef
from tallsbi.study.settings.theory import TheorySettings
from tallsbi.study.stages import modes, theory

METHODS = methods(0.0, GAUSS={"cov_steps": 5}, JAC={}, LANGEVIN={"inner_steps": 5, "tau": 0.5}, DET_GEF={})
SETTINGS = TheorySettings(1, MODEL, METHODS, tasks=("slcp",), sets=1, n=8)


@pytest.fixture(scope="module")
def problem():
    return theory.gaussian_problem("anisotropic", 2, 5, np.random.default_rng(0))


@pytest.mark.parametrize(("name", "sampler"), [("sum", DetGef(steps=30)), ("GAUSS", DDIM(steps=30, eta=0.5))])
def test_the_law_is_that_of_the_draws(problem, name, sampler):
    """20,000 draws: moments to within five standard errors."""
    tall = theory.tall_scores(problem[0])[name]
    mean, cov = theory.law(sampler, tall)
    draws = sampler.run(tall, 20_000, Noise([torch.Generator().manual_seed(0)], torch.float64)).theta
    error = (cov.diagonal(dim1=-2, dim2=-1) / 20_000).sqrt()
    assert ((draws.mean(1) - mean).abs() < 5 * error).all()
    for b in range(len(cov)):
        assert torch.allclose(torch.cov(draws[b].mT), cov[b], atol=0.08 * cov[b].diagonal().max().item())


def test_the_distance_of_gaussians_is_the_closed_form():
    mean, cov = torch.zeros(1, 2).double(), torch.diag(torch.tensor([4.0, 1.0]).double())[None]
    assert theory.law_error(mean, cov, mean, cov).item() == pytest.approx(0, abs=1e-7)
    wider = torch.diag(torch.tensor([9.0, 1.0]).double())[None]
    assert theory.law_error(mean + 2.0, wider, mean, cov).item() == pytest.approx(np.sqrt((8 + 1) / 5))


def test_composed_scores_are_exact_and_the_plain_sum_is_not(problem):
    errors = {name: [] for name in ("GAUSS", "JAC", "sum")}
    for row in theory._score_errors(3):
        errors[row[2]].append(row[-1])
    assert max(errors["GAUSS"]) < 1e-6
    assert max(errors["JAC"]) < 1e-6
    assert min(errors["sum"]) > 0.1


def test_the_law_of_the_proposal_converges_and_that_of_det_gef_does_not(problem):
    """DET_GEF follows the plain sum of scores as the steps get shorter, which is no diffusion's score."""
    scores, (_, mean, cov) = theory.tall_scores(problem[0]), problem
    far = {
        T: theory.law_error(*theory.law(DDIM(steps=T, eta=1.0), scores["GAUSS"]), mean, cov)
        for T in (50, 400)
    }
    assert (far[400] < far[50] / 4).all()
    stays = theory.law_error(*theory.law(DetGef(steps=400), scores["sum"]), mean, cov)
    assert (stays > 0.05).all()


@pytest.mark.parametrize("n", [1, 2, 20])
def test_the_spread_of_det_gef_tends_to_its_closed_form(n):
    """The error of T steps falls as 1 / T, so that two T extrapolate to the limit of short steps."""
    exact, _, cov = theory.gaussian_problem("isotropic", 1, n, np.random.default_rng(3))
    spreads = [
        (theory.law(DetGef(steps=T), theory.tall_scores(exact)["sum"])[1] / cov)[:, 0, 0].sqrt()
        for T in (200, 400)
    ]
    shares = exact.score.posterior_cov[:, 0, 0] / exact.prior.cov[:, 0, 0]
    limit = theory.det_gef_spread(shares, n)
    assert torch.allclose(2 * spreads[1] - spreads[0], limit, atol=3e-3)
    assert ((spreads[1] - limit).abs() < (spreads[0] - limit).abs()).all()


def test_the_closed_form_is_right_for_one_observation_and_half_the_variance_for_many():
    shares = torch.tensor([0.01, 0.3, 0.9]).double()
    assert torch.allclose(theory.det_gef_spread(shares, 1), torch.ones(3).double())
    assert torch.allclose(
        theory.det_gef_spread(shares, 5000), torch.full((3,), 0.5).double().sqrt(), atol=1e-3
    )


def test_steps_and_draws_of_the_covariances_cost_gauss_accuracy(monkeypatch):
    """Fewer steps cost more, and with as many as suffice what is left is far below the cost of the draws."""
    monkeypatch.setattr(theory, "LAW_STEPS", (100,))
    monkeypatch.setattr(theory, "COVARIANCE_STEPS", (10, 100))
    rows = list(theory._covariance_effects(SETTINGS))
    assert {row[:5] for row in rows} == {
        ("covariance_effect", case, "GAUSS", 10, 32) for case in ("gaussian-wide", "gaussian-standard")
    }
    middle = {
        steps: np.median([row[-1] for row in rows if row[5] == steps and row[1] == "gaussian-standard"])
        for steps in (10, 100)
    }
    assert middle[10] > 2 * middle[100] > 0


def test_evaluations_are_counted_as_they_happen():
    counts = {(row[0], row[2]): row[-1] for row in theory._counts(SETTINGS)}
    assert {name: counts["evaluations", name] for name in METHODS.options} == {
        "GAUSS": 1.0,
        "JAC": 1.0,
        "LANGEVIN": 5.0,
        "DET_GEF": 1.0,
    }
    assert counts["jacobian_entries", "JAC"] == 1.0
    assert counts["jacobian_entries", "GAUSS"] == 0.0


def test_slcp_has_its_four_modes():
    table = modes.table(SETTINGS)
    assert table.value.tolist() == [4.0]
