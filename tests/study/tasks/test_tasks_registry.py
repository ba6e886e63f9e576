"""The registry of tasks, and what every task states about itself."""

import numpy as np
import pytest
import torch
from fresh_python import loaded
from paths import ROOT

from tallsbi.runner import fingerprint
from tallsbi.study import tasks

NAMES = [
    "bernoulli_glm",
    "bernoulli_glm_raw",
    "gaussian_linear",
    "gmm",
    "gmm_uniform",
    "lotka_volterra",
    "sir",
    "slcp",
    "two_moons",
]


def test_there_are_the_nine_tasks_of_the_paper():
    """A further one is welcome: docs/extend.md adds it."""
    assert set(tasks.names()) >= set(NAMES)


@pytest.mark.parametrize("name", tasks.names())
def test_a_task_is_what_its_module_is_called(name):
    task = tasks.load(name)
    assert task.name == name
    assert tasks.module_of(name) == f"tallsbi.study.tasks.{name}"
    assert len(task.parameter_names) == len(task.parameter_labels) == task.dim_theta == task.prior.dim
    assert task.prior.sample(3, torch.Generator().manual_seed(0)).dtype == torch.float32


def test_labels_are_mathtext():
    assert tasks.load("lotka_volterra").parameter_labels[0] == r"$\alpha$"
    assert tasks.load("gmm").parameter_labels[9] == r"$\theta_{10}$"


def test_only_positive_parameters_are_modelled_in_logarithms():
    in_logarithms = [name for name in NAMES if tasks.load(name).prior.to_latent(torch.ones(1, 1)).item() == 0]
    assert in_logarithms == ["lotka_volterra", "sir"]
    assert [name for name in NAMES if tasks.load(name).log_x] == ["lotka_volterra"]


def test_an_unknown_name_comes_with_a_suggestion():
    with pytest.raises(ValueError, match=r"'SLPC'.*did you mean slcp"):
        tasks.load("SLPC")
    with pytest.raises(ValueError, match="Unknown task 'base'"):
        tasks.module_of("base")


def test_listing_the_tasks_imports_nothing_heavy():
    code = "from tallsbi.study import tasks; tasks.names(); tasks.module_of('sir')"
    assert loaded(code, "numpy", "torch", "jax", "numba", "sbibm") == []


def test_a_change_to_the_solver_concerns_the_two_tasks_that_use_it_only():
    uses = {name: fingerprint.closure(tasks.module_of(name), root=ROOT) for name in NAMES}
    assert [name for name in NAMES if "tallsbi.study.tasks.ode.kernel" in uses[name]] == [
        "lotka_volterra",
        "sir",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_simulations_are_finite_and_nested(name):
    task = tasks.load(name)
    theta = task.theta_train(300)
    x = task.simulate(theta, np.random.default_rng(3))
    assert x.shape == (300, task.dim_x)
    assert x.dtype == np.float64
    assert np.isfinite(x.astype(np.float32)).all()
    if task.log_x:
        assert (x > 0).all()
    # The same numbers up to the rounding of a matrix product, whose blocks depend on its size.
    np.testing.assert_allclose(
        task.simulate(theta[:40], np.random.default_rng(3)), x[:40], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_observations_are_nested_and_each_has_noise_of_its_own(name):
    task = tasks.load(name)
    theta = np.repeat(task.theta_star(1), 3, 0)

    def stream(b):
        return np.random.default_rng([1, b])

    x = task.observe(theta, 8, stream)
    assert x.shape == (3, 8, task.dim_x)
    np.testing.assert_array_equal(task.observe(theta, 3, stream), x[:, :3])
    assert len(np.unique(x.reshape(24, -1), axis=0)) == 24


def test_only_the_gaussian_posterior_is_closed():
    for name in NAMES:
        task = tasks.load(name)
        assert (task.closed_form(np.ones((2, task.dim_x))) is None) == (not name.startswith("gaussian_"))
