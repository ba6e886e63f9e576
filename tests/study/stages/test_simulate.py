"""Training simulations and observations: nested, reproducible, in the shapes the rest of the study expects."""

import numpy as np
import pytest

from tallsbi.study.stages.simulate import observations, simulations
from tallsbi.study.tasks import load


@pytest.mark.parametrize("name", ["slcp", "gaussian_linear"])
def test_a_smaller_training_set_is_the_beginning_of_a_larger_one(name):
    task = load(name)
    small, large = simulations(task, 50, 7), simulations(task, 80, 7)
    np.testing.assert_array_equal(small.theta, large.theta[:50])
    np.testing.assert_array_equal(small.x, large.x[:50])
    assert not np.array_equal(simulations(task, 50, 8).x, small.x)


def test_observations_are_nested_and_independent_between_sets():
    task = load("slcp")
    few, many = observations(task, 2, 5, 7), observations(task, 3, 9, 7)
    np.testing.assert_array_equal(few.x, many.x[:2, :5])
    np.testing.assert_array_equal(few.theta, many.theta[:2])
    np.testing.assert_array_equal(few.theta, task.theta_star(2).astype(np.float32))
    # The noise of the sets is not shared: the same standardised residual would show up in both.
    first = (many.x[0, :, 0] - many.theta[0, 0]) / many.theta[0, 2] ** 2
    second = (many.x[1, :, 0] - many.theta[1, 0]) / many.theta[1, 2] ** 2
    assert np.abs(first - second).min() > 1e-6
