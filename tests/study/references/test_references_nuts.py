"""NUTS against the grid where both apply; what happens to sets that fail; thinning."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from settings import silent

from tallsbi.study.references import nuts
from tallsbi.study.references.agreement import _shipped
from tallsbi.study.references.certificate import Certificate, Check
from tallsbi.study.references.nuts import _groups, certified_draws, thin
from tallsbi.study.references.request import Request
from tallsbi.study.references.sbibm import on_grid, reference_posterior
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks import load

SETTINGS = ChainSettings(
    chains=8, warmup=150, draws=500, max_rhat=1.01, min_ess=1000, retries=1, target_accept=0.8
)


def request(name, n, sets=2, samples=1000, seed=3, **changes):
    task = load(name)
    theta = task.theta_star(25)[:sets].astype(float)
    x = task.observe(theta, n, lambda b: np.random.default_rng([7, b]))
    return Request(task, x, n, samples, replace(SETTINGS, **changes), seed, 0, silent)


def made_up_chains(draws=500):
    """Four chains of independent draws of five parameters, with an energy that is renewed at every draw."""
    rng = np.random.default_rng(0)
    shape = (1, 4, draws)
    theta, energy = rng.standard_normal((*shape, 5)), rng.standard_normal(shape)
    return nuts.Chains(theta, np.zeros(shape, dtype=bool), energy, np.array([0.9]))


def sampler_of(chains):
    return lambda *_, **__: lambda *_: chains


def test_nuts_agrees_with_the_grid():
    """SIR, two sets at n = 3: both marginals and two further directions by Kolmogorov-Smirnov at level 1e-4 each.

    Eight tests of 1000 draws against 4000: false alarms below 1e-3, as the thinned draws are nearly independent.
    """
    problem = request("sir", 3)
    chains = certified_draws(problem)
    grid = on_grid(request("sir", 3, samples=4000))
    for (theta, certificate), (expected, of_grid) in zip(chains, grid, strict=True):
        assert certificate.passed
        assert of_grid.passed
        assert certificate.method == "NUTS"
        numbers = certificate.numbers()
        assert numbers["rhat"] <= 1.01
        assert numbers["ess_bulk"] > 1000
        assert numbers["ess_kept"] > 600
        assert numbers["divergences"] == 0
        assert numbers["efmi"] > 0.5
        assert numbers["autocorrelation"] < 0.05
        ours, theirs = np.log(theta), np.log(expected)
        for direction in ([1, 0], [0, 1], [1, 1], [1, -1]):
            assert scipy.stats.ks_2samp(ours @ direction, theirs @ direction).pvalue > 1e-4


class FakeAttempts:
    """Sets pass from a given attempt on; every call is noted."""

    def __init__(self, passes_at):
        self.passes_at, self.calls = passes_at, []

    def __call__(self, problem, group, attempt):
        self.calls.append((attempt, group))
        theta = np.full((problem.samples, problem.task.dim_theta), float(attempt))
        return [
            (
                theta,
                Certificate(
                    "NUTS", (Check("rhat", (1.0 if attempt >= self.passes_at[b] else 2.0,), at_most=1.5),)
                ),
            )
            for b in group
        ]


def test_only_failed_sets_are_sampled_anew(monkeypatch, caplog):
    fake = FakeAttempts([0, 2, 1, 9])
    monkeypatch.setattr(nuts, "_attempt", fake)
    output = certified_draws(request("slcp", 1, sets=4, samples=5, retries=2))
    assert fake.calls == [(0, [0, 1, 2, 3]), (1, [1, 2, 3]), (2, [1, 3])]
    assert [certificate.passed for _, certificate in output] == [True, True, True, False]
    assert [theta[0, 0] for theta, _ in output] == [0, 2, 1, 2]
    assert "sets [3] not certified in attempt 3" in caplog.text


def test_too_few_effective_draws_for_the_samples_wanted(monkeypatch):
    """Chains of 2000 independent draws are enough for 500 samples and not for 1500, whatever `min_ess` says."""
    monkeypatch.setattr(nuts, "make_sampler", sampler_of(made_up_chains()))
    for samples, passes in ((500, True), (1500, False)):
        problem = request("slcp", 1, sets=1, samples=samples, min_ess=400, max_rhat=1.05, retries=0)
        ((theta, certificate),) = certified_draws(problem)
        assert certificate.passed == passes
        assert certificate.failed == (() if passes else ("ess_bulk",))
        assert certificate.notes["attempts"] == 1
        assert theta.shape == (samples, 5)


def one_divergence(chains):
    chains.diverging[0, 0, 3] = True


def energy_that_hardly_moves(chains):
    chains.energy[0, 1] = np.cumsum(chains.energy[0, 1])


def slow_coordinate(chains):
    """A moving average of two kept neighbours (every tenth draw is kept) in the last coordinate."""
    chains.theta[0, :, 10:, 4] += 0.3 * chains.theta[0, :, :-10, 4]


@pytest.mark.parametrize(
    ("damage", "check"),
    [
        (one_divergence, "divergences"),
        (energy_that_hardly_moves, "efmi"),
        (slow_coordinate, "autocorrelation"),
    ],
)
def test_each_check_of_posteriordb_fails_alone(monkeypatch, damage, check):
    chains = made_up_chains(draws=2500)
    problem = request("slcp", 1, sets=1, samples=1000, min_ess=400, max_rhat=1.05, retries=0)
    monkeypatch.setattr(nuts, "make_sampler", sampler_of(chains))
    assert certified_draws(problem)[0][1].passed
    damage(chains)
    assert certified_draws(problem)[0][1].failed == (check,)


def test_every_set_is_in_a_group_and_groups_are_equally_large():
    for count in (1, 2, 25, 26, 40, 51, 100):
        groups = _groups(list(range(count)))
        assert sorted({b for group in groups for b in group}) == list(range(count))
        assert len({len(group) for group in groups}) == 1
        assert len(groups[0]) <= nuts.GROUP_SIZE


def test_thinning_takes_equally_many_from_every_chain_evenly_spaced():
    theta = np.arange(4 * 30.0).reshape(4, 30, 1)
    kept = thin(theta, 20)
    assert kept.shape == (4, 5, 1)
    assert np.all(np.diff(kept[..., 0]) == 6)
    np.testing.assert_array_equal(thin(theta, 120), theta)
    with pytest.raises(ValueError, match="raise `chains` or `draws`"):
        thin(theta, 121)


def test_slcp_against_the_shipped_posterior():
    """sbibm's first observation: ten marginals and the four modes, false alarms below 2e-3 in all.

    Kolmogorov-Smirnov at level 1e-4 against all 10,000 shipped draws, with the absolute values of all parameters as
    further marginals; the share of each mode within five standard errors of a quarter.
    """
    task = load("slcp")
    x, shipped = _shipped("slcp", 1, task)
    data = reference_posterior(
        task,
        x[None, None],
        1,
        1000,
        replace(SETTINGS, target_accept=0.95, draws=1500, retries=1),
        3,
        silent,
    )
    assert bool(data.passed.all())
    theta = data.theta.values[0]
    for transform in (lambda v: v, np.abs):
        for ours, theirs in zip(transform(theta).T, transform(shipped).T, strict=True):
            assert scipy.stats.ks_2samp(ours, theirs).pvalue > 1e-4
    for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
        share = np.all(np.sign(theta[:, 2:4]) == signs, axis=1).mean()
        assert abs(share - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 1000)
