"""All folds of many classifier two-sample tests at once, following scikit-learn's algorithm step by step.

sbibm's test (Lueckmann et al. 2021) cross-validates scikit-learn's MLPClassifier. This is that classifier's
training written out: the same initial weights, folds and minibatches from the same random stream, the same
Adam steps in float32, the same stopping rule. Only the order of floating-point sums differs, so the two drift
apart slowly and end in accuracies that differ by a few rows near the decision boundary. The folds of a
comparison, and all comparisons with the same seed, share the random stream, as in scikit-learn: it is drawn
once for all of them.

C comparisons of N rows (both samples together) in m dimensions; M classifiers with n training rows each.
A classifier depends on its own data and seed only, whatever else is trained with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int, Int64

FOLDS = 5
UNITS_PER_INPUT = 10
MAX_BATCH = 200
MAX_EPOCHS = 10_000
# Epochs between two checks of which classifiers are done; their row orders are drawn in advance.
_EPOCHS_AT_ONCE = 32


@dataclass(frozen=True)
class Classifiers:
    """M trained classifiers: parameters laid out as the kernel says, epochs taken, lowest training losses."""

    params: Float32[np.ndarray, "M P"]
    epochs: Int64[np.ndarray, "M"]
    losses: Float[np.ndarray, "M"]


def cross_validated_accuracies(
    data: Float32[np.ndarray, "C N m"], labels: Float32[np.ndarray, "N"], seed: int
) -> Float[np.ndarray, "C"]:
    """Mean accuracy over the folds of each comparison; NaN where the training diverged.

    data holds the rows of both samples, labels the sample (0 or 1) that each row belongs to.
    """
    by_size: dict[int, list[np.ndarray]] = {}
    for fold in held_out(len(labels), seed):
        by_size.setdefault(len(fold), []).append(fold)
    # Folds differ in size by at most one row; those of equal size are trained together.
    total = np.zeros(len(data))
    for folds in by_size.values():
        total += _accuracies(data, labels, np.stack(folds), seed).sum(1)
    return total / FOLDS


def held_out(rows: int, seed: int) -> list[Int[np.ndarray, "_"]]:
    """The rows left out in each fold, as scikit-learn's shuffled KFold chooses them."""
    order = np.arange(rows)
    np.random.RandomState(seed).shuffle(order)
    return np.array_split(order, FOLDS)


def _accuracies(
    data: Float32[np.ndarray, "C N m"],
    labels: Float32[np.ndarray, "N"],
    folds: Int[np.ndarray, "F T"],
    seed: int,
) -> Float[np.ndarray, "C F"]:
    """Accuracy on the T rows that each fold holds out, of a classifier trained on the others."""
    from tallsbi.metrics.c2st_kernel import correct

    comparisons, rows, m = data.shape
    models = comparisons * len(folds)

    def select(indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = data[:, indices].reshape(models, -1, m)
        return x, np.tile(labels[indices], (comparisons, 1))

    kept = np.stack([np.setdiff1d(np.arange(rows), fold) for fold in folds])
    params = fit(*select(kept), seed).params
    x, y = select(folds)
    counts = np.empty(models, np.int64)
    correct(np.ascontiguousarray(x.transpose(0, 2, 1)), y, UNITS_PER_INPUT * m, params, counts)
    accuracies = np.where(np.isfinite(params).all(1), counts / folds.shape[1], np.nan)
    return accuracies.reshape(comparisons, len(folds))


def fit(
    x: Float32[np.ndarray, "M n m"], y: Float32[np.ndarray, "M n"], seed: int, max_epochs: int = MAX_EPOCHS
) -> Classifiers:
    """Trains a classifier on each of M training sets, until its loss no longer improves."""
    from threadpoolctl import threadpool_limits

    from tallsbi.metrics.c2st_kernel import train

    models, rows, m = x.shape
    units, batch = UNITS_PER_INPUT * m, min(MAX_BATCH, rows)
    stream = np.random.RandomState(seed)
    params = np.tile(_initial_parameters(m, units, stream), (models, 1))
    moments = np.zeros_like(params), np.zeros_like(params)
    best, stalled = np.full(models, np.inf), np.zeros(models, np.int64)
    epochs, done = np.zeros(models, np.int64), np.zeros(models, np.bool_)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    # BLAS would split the products among threads, and they are too small for that.
    with threadpool_limits(1, "blas"):
        for orders in _row_orders(rows, stream):
            train(x, y, orders, batch, units, params, *moments, best, stalled, epochs, done, max_epochs)
            if done.all():
                break
    return Classifiers(params, epochs, best)


def _initial_parameters(m: int, units: int, stream: np.random.RandomState) -> Float32[np.ndarray, "P"]:
    """Uniform with Glorot's bounds, the biases too, drawn layer by layer."""
    weights, biases = [], []
    for fan_in, fan_out in ((m, units), (units, units), (units, 1)):
        bound = np.sqrt(6 / (fan_in + fan_out))
        # scikit-learn has inputs first, the kernel outputs.
        weights.append(stream.uniform(-bound, bound, (fan_in, fan_out)).T.ravel())
        biases.append(stream.uniform(-bound, bound, fan_out))
    return np.concatenate(weights + biases).astype(np.float32)


def _row_orders(rows: int, stream: np.random.RandomState) -> Iterator[Int64[np.ndarray, "_ rows"]]:
    """The orders in which the epochs visit the rows, some epochs at a time; each epoch shuffles the last order."""
    order = np.arange(rows)
    while True:
        orders = np.empty((_EPOCHS_AT_ONCE, rows), np.int64)
        for epoch in range(_EPOCHS_AT_ONCE):
            indices = np.arange(rows)
            stream.shuffle(indices)
            orders[epoch] = order = order[indices]
        yield orders
