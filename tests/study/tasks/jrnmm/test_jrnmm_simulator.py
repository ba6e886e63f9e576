"""The compiled simulator: against plain numpy given the same noise, exact laws, orders of convergence.

Statistical tests are seeded; each states how often it would fail by chance with fresh seeds.
"""

import numpy as np
import pytest
from jrnmm_oracles import drive, linear_autocovariance, linear_law, recording
from scipy.integrate import solve_ivp

from tallsbi.study.tasks.jrnmm.model import ALPHA_RHYTHM, Model
from tallsbi.study.tasks.jrnmm.simulator import PUBLISHED, Simulation, normals, simulate

QUIET = {"noise_pyramidal": 0.0, "noise_inhibitory": 0.0}
CORNERS = np.array(
    [
        ALPHA_RHYTHM,
        (10, 50, 0, 0),
        (250, 500, 5000, 20),
        (250, 50, 0, -20),
        (10, 500, 5000, 5),
        (68, 400, 100, -3),
    ]
)


def rows(theta, count):
    return np.tile(np.asarray(theta, dtype=float), (count, 1))


def end_of(theta, step, time, seed=0, model=None):
    """X_1 - X_2 at `time`, recovered from a recording of two samples, at 0 and `time`."""
    settings = Simulation(step, 0.0, 2 * time, round(time / step), model or Model())
    start = normals(seed, 0, len(theta), 3)
    return (start[:, 1] - start[:, 2]) - 2 * simulate(theta, seed, settings=settings)[:, 0]


@pytest.mark.parametrize("step", [1 / 1024, 1 / 256])
def test_every_step_is_that_of_plain_numpy(step):
    """Three quarters of a second from the start on, all over the prior, sigma = 0 included."""
    settings = Simulation(step, 0.0, 0.75, 1)
    z = normals(3, 20, len(CORNERS), 6 * settings.samples).reshape(len(CORNERS), -1, 6)
    expected = recording(CORNERS, z, step, 0, 1)
    scale = 10 ** (CORNERS[:, 3:] / 10)
    ours = simulate(CORNERS, 3, first=20, settings=settings)
    np.testing.assert_allclose(ours / scale, expected / scale, rtol=0, atol=1e-10)


def test_ten_seconds_are_those_of_plain_numpy():
    """Rounding errors grow a little along the way where the model oscillates."""
    theta = CORNERS[:3]
    z = normals(4, 0, 3, 6 * (PUBLISHED.steps + 1)).reshape(3, -1, 6)
    expected = recording(theta, z, 1 / 1024, 2048, 8)
    ours = simulate(theta, 4)
    assert ours.shape == expected.shape == (3, 1024)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_what_is_published():
    assert (PUBLISHED.burn_steps, PUBLISHED.samples, PUBLISHED.steps) == (2048, 1024, 10232)
    assert PUBLISHED.sample_rate == 128


def test_without_noise_and_drive_the_start_decays_exactly():
    model = Model(vmax=0.0, **QUIET)
    settings = Simulation(1 / 64, 1 / 64, 0.25, 2, model)
    z = normals(0, 0, 4, 6)
    times = 1 / 64 + np.arange(8) / 32
    y = np.empty((4, 8))
    for i, t in enumerate(times):
        fast, slow = linear_law(100.0, t)[0][0], linear_law(50.0, t)[0][0]
        y[:, i] = z[:, [1, 4]] @ fast - z[:, [2, 5]] @ slow
    ours = simulate(rows([135, 0, 0], 4), 0, settings=settings)
    np.testing.assert_allclose(ours, y - y.mean(1, keepdims=True), rtol=0, atol=1e-12)


@pytest.mark.parametrize("burn_in", [0.0, 1.0], ids=["transient", "stationary"])
@pytest.mark.parametrize("step", [1 / 1024, 1 / 128], ids=["short step", "long step"])
def test_without_drive_mean_and_covariance_are_the_exact_ones(step, burn_in):
    """The linear part has no discretisation error: the same law with any step.

    Eight samples less their mean are seven coordinates; in whitened ones, 7 means and 28 covariances of
    40,000 signals within five standard deviations: false alarm 2e-5.
    """
    N, n = 40_000, 8
    strengths = 2000.0, 500.0
    settings = Simulation(
        step, burn_in, n / 128, round(1 / 128 / step), Model(vmax=0.0, noise_inhibitory=500.0)
    )
    signals = simulate(rows([135, 0, strengths[0]], N), 8, settings=settings)
    exact = linear_autocovariance(strengths, burn_in + np.arange(n) / 128)
    contrasts = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
    factor = np.linalg.cholesky(contrasts.T @ exact @ contrasts)
    white = np.linalg.solve(factor, (signals @ contrasts).T)
    assert np.abs(white.mean(1)).max() < 5 / np.sqrt(N)
    error = np.abs(np.cov(white) - np.eye(n - 1)) / np.sqrt(1 + np.eye(n - 1))
    assert error.max() < 5 / np.sqrt(N)


def test_a_constant_input_is_of_second_order():
    """Without noise and sigmoid X_1 goes to A mu / a as 1 - exp(-a t) (1 + a t)."""
    model, t = Model(vmax=0.0, **QUIET), 1 / 32
    theta = rows([135, 220, 0], 1)
    level = 3.25 * 220 / 100 * (1 - np.exp(-100 * t) * (1 + 100 * t))
    still = end_of(rows([135, 0, 0], 1), 1 / 1024, t, model=model)
    errors = [float((end_of(theta, step, t, model=model) - still - level)[0]) for step in (1 / 512, 1 / 1024)]
    assert abs(errors[1]) < 2e-3 * level
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize("theta", [(135, 220, 0), (60, 300, 0)])
def test_without_noise_it_solves_the_differential_equation_to_second_order(theta):
    t = 0.25
    parameters = rows([*theta, 0], 1)
    z = normals(2, 0, 1, 6)[0]

    def slope(_, X):
        forces = drive(X[None], parameters)[0]
        rates = np.array([100.0, 100.0, 50.0])
        return np.concatenate([X[3:], forces - 2 * rates * X[3:] - rates**2 * X[:3]])

    end = solve_ivp(slope, (0, t), z, method="DOP853", rtol=1e-11, atol=1e-11, max_step=1e-3).y[:, -1]
    errors = [
        float(end_of(parameters, step, t, 2, Model(**QUIET))[0] - (end[1] - end[2]))
        for step in (1 / 2048, 1 / 4096, 1 / 8192)
    ]
    assert abs(errors[-1]) < 1e-2
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.08)


def test_the_weak_order_is_two():
    """Halving the step divides the change of E[Y] by four, at t = 1/16 s; of a first-order method, by two.

    200,000 paths, with the same starts for every step. The changes are about 0.9, 0.23 and 0.059, with
    standard errors of 0.002, 0.001 and 0.0008: the bounds are ten standard deviations of the ratios away.
    """
    theta = rows([135, 220, 500], 200_000)
    means = [end_of(theta, 1 / n, 1 / 16, seed=9).mean() for n in (128, 256, 512, 1024)]
    changes = np.diff(means)
    assert 3.3 < changes[0] / changes[1] < 4.4
    assert 3.3 < changes[1] / changes[2] < 4.8
