"""l-C2ST on a model with a known posterior: it passes the exact one and rejects a wrong one."""

import numpy as np
import pytest
import torch

from tallsbi.metrics.lc2st import local_test


def problem(scale, pairs=400, samples=200):
    """theta ~ N(0, 1), x ~ N(theta, 1): the posterior is N(x / 2, 1 / 2), its standard deviation times `scale`."""
    draws = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.randn(*shape, generator=draws)

    theta = normal(pairs, 1)
    x = theta + normal(pairs, 1)
    std = scale * np.sqrt(0.5)
    x_o = torch.tensor([0.3])
    return theta, x / 2 + std * normal(pairs, 1), x, x_o / 2 + std * normal(samples, 1), x_o


def test_exact_posterior_passes_and_a_wrong_one_does_not():
    right = local_test(*problem(1.0), classifiers=2, permutations=20)
    wrong = local_test(*problem(3.0), classifiers=2, permutations=20)
    assert right.p_values.mean() > 0.05
    assert wrong.p_values.max() == 0
    assert wrong.statistics.min() > right.statistics.max()
    assert right.null.shape == (20,)


def test_same_result_each_time_whatever_the_global_stream():
    torch.manual_seed(5)
    first = local_test(*problem(1.5, pairs=60), classifiers=1, permutations=3)
    before = torch.get_rng_state()
    second = local_test(*problem(1.5, pairs=60), classifiers=1, permutations=3)
    np.testing.assert_array_equal(first.null, second.null)
    np.testing.assert_array_equal(first.statistics, second.statistics)
    assert torch.equal(before, torch.get_rng_state())


def test_draws_that_are_not_finite_are_refused_by_name():
    theta, drawn, *rest = problem(1.0, pairs=20)
    drawn[3] = torch.nan
    with pytest.raises(ValueError, match="drawn has values that are not finite"):
        local_test(theta, drawn, *rest, classifiers=1, permutations=1)
