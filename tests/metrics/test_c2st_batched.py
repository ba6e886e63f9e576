"""The training loop against scikit-learn's: folds, initial weights, minibatches, steps, stopping."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPClassifier

from tallsbi.metrics.c2st_batched import cross_validated_accuracies, fit, held_out


def two_classes(rows, m, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = (np.arange(rows) % 2).astype(np.float32)
    return (rng.standard_normal((rows, m)) + shift * y[:, None]).astype(np.float32), y


def scikit_learn(x, y, seed, epochs):
    m = x.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged: on purpose
        return MLPClassifier((10 * m, 10 * m), max_iter=epochs, random_state=seed).fit(x, y)


def flat(model):
    return np.concatenate([w.T.ravel() for w in model.coefs_] + [b.ravel() for b in model.intercepts_])


@pytest.mark.parametrize("rows", [23, 200])
def test_folds(rows):
    expected = [test for _, test in KFold(5, shuffle=True, random_state=3).split(np.zeros(rows))]
    for ours, theirs in zip(held_out(rows, 3), expected, strict=True):
        np.testing.assert_array_equal(np.sort(ours), np.sort(theirs))


# One minibatch smaller than 200, a full and a short one, two full ones; more epochs than are drawn at a time.
@pytest.mark.parametrize(("rows", "m", "epochs"), [(90, 2, 40), (330, 3, 20), (400, 2, 20), (330, 1, 40)])
def test_parameters_follow_scikit_learn(rows, m, epochs):
    """Adam's first steps have the size of the learning rate whatever the gradient, so that rounding can turn
    the sign of a step where a gradient vanishes; it does not here."""
    x, y = two_classes(rows, m)
    reference = scikit_learn(x, y, 5, epochs)
    ours = fit(x[None], y[None], 5, epochs)
    assert ours.epochs[0] == reference.n_iter_ == epochs
    start = flat(scikit_learn(x, y, 5, 1))
    moved = np.abs(flat(reference) - start).max()
    np.testing.assert_allclose(ours.params[0], flat(reference), atol=1e-3 * moved)
    # The penalty's share of the loss is about 1e-5.
    assert ours.losses[0] == pytest.approx(reference.best_loss_, rel=2e-6)


def test_penalty_and_epsilon():
    """The weights of an input that is always zero feel nothing but the penalty, a gradient of about 1e-7.

    Adam divides it by its own size plus 1e-8: both show.
    """
    x, y = two_classes(90, 2)
    x[:, 1] = 0
    params = fit(x[None], y[None], 5, 30).params[0]
    ours, theirs = params[: 2 * 20].reshape(20, 2)[:, 1], scikit_learn(x, y, 5, 30).coefs_[0][1]
    assert np.abs(theirs - scikit_learn(x, y, 5, 1).coefs_[0][1]).max() > 0.02
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize(("rows", "shift"), [(1000, 0.0), (400, 0.5), (150, 8.0)])
def test_stops_when_scikit_learn_does(rows, shift):
    """After 24, 62 and 489 epochs: in one dimension rounding does not grow enough to move the last one."""
    x, y = two_classes(rows, 1, shift=shift)
    reference = scikit_learn(x, y, 2, 10_000)
    taken = fit(x[None], y[None], 2).epochs[0]
    assert 11 < taken < 10_000
    assert taken == reference.n_iter_


def test_classifiers_do_not_know_of_each_other():
    sets = [two_classes(120, 2, seed, shift) for seed, shift in enumerate([0.3, 3.0, 1.0])]
    x, y = (np.stack(parts) for parts in zip(*sets, strict=True))
    joint = fit(x, y, 1, 300)
    assert len(set(joint.epochs)) > 1
    for i in range(3):
        alone = fit(x[i : i + 1], y[i : i + 1], 1, 300)
        np.testing.assert_array_equal(alone.params[0], joint.params[i])
        assert alone.epochs[0] == joint.epochs[i]


def test_folds_of_unequal_size():
    """23 rows: three folds of five and two of four, as cross_val_score averages them."""
    x, y = two_classes(23, 2, shift=6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = KFold(5, shuffle=True, random_state=1).split(x)
        expected = np.mean([scikit_learn(x[a], y[a], 1, 10_000).score(x[b], y[b]) for a, b in folds])
    assert cross_validated_accuracies(x[None], y, 1)[0] == pytest.approx(expected)


def test_a_training_that_diverges_is_not_a_number():
    x, y = two_classes(50, 2)
    x[7] = np.float32(3e38)
    x[8] = np.float32(-3e38)
    value = cross_validated_accuracies(x[None], y, 1)[0]
    assert np.isnan(value)
