"""The grid: densities with known moments, narrow, split or cut off, and what the certificate must see."""

import numpy as np
import pytest
import scipy.stats

from tallsbi.study.references.grid import Grid, draw, tabulate

LOW, HIGH = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
COUNT = 20_000


def gaussian(mean, cov):
    precision = np.linalg.inv(cov)
    return lambda points: -0.5 * np.einsum("ni,ij,nj->n", points - mean, precision, points - mean)


def check_moments(points, mean, cov):
    """Five standard errors for each of five numbers: false alarms below 1e-5."""
    assert np.all(np.abs(points.mean(0) - mean) < 5 * np.sqrt(np.diag(cov) / COUNT))
    error = np.sqrt((cov**2 + np.outer(np.diag(cov), np.diag(cov))) / COUNT)
    assert np.all(np.abs(np.cov(points.T) - cov) < 5 * error)


@pytest.mark.parametrize("scale", [0.1, 1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("correlation", [0.0, 0.95])
def test_a_gaussian_is_found_and_drawn_from(scale, correlation):
    mean, cov = np.array([0.123, -0.4567]), scale**2 * np.array([[1, correlation], [correlation, 1]])
    table = tabulate(gaussian(mean, cov), LOW, HIGH, closed=False)
    assert table.resolved()
    points, excess = draw(table, gaussian(mean, cov), COUNT, np.random.default_rng(0))
    assert all(check.passed for check in table.checks(excess))
    check_moments(points, mean, cov)


def test_draws_are_those_of_the_density_and_not_of_the_cells():
    """Kolmogorov-Smirnov at level 1e-4 on a grid so coarse that the cells alone would fail it."""
    density = gaussian(np.zeros(2), 0.02**2 * np.eye(2))
    side = 64
    index = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1).reshape(-1, 2)
    size = (HIGH - LOW) / side
    value = density(LOW + (index + 0.5) * size)
    mass = np.exp(value - value.max())
    coarse = Grid(LOW + index * size, size, value, mass / mass.sum(), 1, 0.1, 0.0)
    rng = np.random.default_rng(1)
    points, _ = draw(coarse, density, COUNT, rng)
    assert scipy.stats.kstest(points[:, 0], "norm", (0, 0.02)).pvalue > 1e-4
    cell = rng.choice(len(coarse.mass), COUNT, p=coarse.mass)
    jittered = coarse.corner[cell] + size * rng.random((COUNT, 2))
    assert scipy.stats.kstest(jittered[:, 0], "norm", (0, 0.02)).pvalue < 1e-4


def test_modes_keep_their_weights():
    """Two narrow modes at 1:3, their share within five standard errors."""
    first, second = (gaussian(np.array(m), 1e-3**2 * np.eye(2)) for m in ([-0.7, 0.31], [0.52, -0.11]))

    def density(points):
        return np.logaddexp(first(points), second(points) + np.log(3))

    table = tabulate(density, LOW, HIGH, closed=False)
    points, _ = draw(table, density, COUNT, np.random.default_rng(2))
    assert abs((points[:, 0] > 0).mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / COUNT)


def test_a_density_cut_by_the_end_of_the_prior_is_no_border_problem():
    density = gaussian(np.array([1.0, 0.0]), 0.05**2 * np.eye(2))
    closed = tabulate(density, LOW, HIGH, closed=True)
    points, excess = draw(closed, density, COUNT, np.random.default_rng(3))
    assert all(check.passed for check in closed.checks(excess))
    half = scipy.stats.kstest(1 - points[:, 0], "halfnorm", (0, 0.05))
    assert half.pvalue > 1e-4
    assert tabulate(density, LOW, HIGH, closed=False).border > 1e-3


def test_a_hard_edge_is_resolved():
    """A Gaussian that ends at a slanted line through its middle: 100 nats lower on one side."""
    cov = 0.01**2 * np.eye(2)

    def density(points):
        return gaussian(np.array([0.1, 0.2]), cov)(points) - 100 * ((points - [0.1, 0.2]).sum(-1) > 0)

    table = tabulate(density, LOW, HIGH, closed=False)
    assert table.resolved()
    points, excess = draw(table, density, COUNT, np.random.default_rng(4))
    assert table.checks(excess)[-1].passed
    along = (points - [0.1, 0.2]).sum(-1) / np.sqrt(2)
    assert scipy.stats.kstest(-along, "halfnorm", (0, 0.01)).pvalue > 1e-4


def test_what_cannot_be_resolved_is_not_certified():
    """Noise of 50 nats on every scale: each level differs from the one before."""

    def density(points):
        return 50 * np.modf(1e6 * np.sin(1e4 * points @ [12.9898, 78.233]))[0]

    assert not tabulate(density, LOW, HIGH, closed=True).resolved()


def test_no_finite_density_is_an_error():
    with pytest.raises(ValueError, match="check the observation"):
        tabulate(lambda points: np.full(len(points), np.nan), LOW, HIGH, closed=True)


def test_nan_counts_as_impossible():
    base = gaussian(np.zeros(2), 0.05**2 * np.eye(2))

    def density(points):
        return np.where(points[:, 0] > 0, np.nan, base(points))

    table = tabulate(density, LOW, HIGH, closed=True)
    points, _ = draw(table, density, 1000, np.random.default_rng(5))
    assert np.all(points[:, 0] <= 0)


def test_proposals_that_are_never_accepted_are_an_error():
    table = tabulate(gaussian(np.zeros(2), np.eye(2)), LOW, HIGH, closed=True)
    with pytest.raises(ValueError, match="does not resolve"):
        draw(table, lambda points: np.full(len(points), -np.inf), 10, np.random.default_rng(6))
