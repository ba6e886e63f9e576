"""The compiled training loop of the classifiers of `tallsbi.metrics.c2st_batched`.

Notation: m inputs, two hidden layers of h ReLU units, one logistic output; B rows in a minibatch. Activations
a and errors d are stored [h, B]: loops over the rows of a minibatch are long enough to be vectorised, loops
over the units are not. The parameters of a classifier are one flat vector (W1 [h, m], W2 [h, h], w3 [h],
b1 [h], b2 [h], b3), weights first, because only they are penalised.

BLAS does the three products of size h h B of a step; everything else takes a quarter of the time. A classifier is
trained for many epochs before the next one has its turn, so that its few dozen kB stay in the cache; stacked
in batched products, the activations of many classifiers would leave it between any two operations.

`no_type_check` keeps the tests' run-time check of annotations from hiding the functions from the compiler.
"""

from typing import no_type_check

import numba
import numpy as np

# The settings of scikit-learn's MLPClassifier that sbibm leaves at their defaults.
LEARNING_RATE = 1e-3
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
PENALTY = 1e-4
TOLERANCE, PATIENCE = 1e-4, 10
# Probabilities are kept this far from 0 and 1 in the loss: float32's resolution.
CLIP = np.float32(np.finfo(np.float32).eps)

# Sums may be reordered to be vectorised; NaN and infinity keep their meaning.
_FASTMATH = {"contract", "reassoc", "nsz"}


@numba.njit(cache=True, error_model="numpy")
@no_type_check
def _parts(flat, m, h):  # pragma: no cover - compiled
    """Views of W1, W2, w3, b1, b2, b3 in a flat vector."""
    end1, end2, end3 = m * h, m * h + h * h, m * h + h * h + h
    return (
        flat[:end1].reshape(h, m),
        flat[end1:end2].reshape(h, h),
        flat[end2:end3],
        flat[end3 : end3 + h],
        flat[end3 + h : end3 + 2 * h],
        flat[end3 + 2 * h :],
    )


@numba.njit(cache=True, error_model="numpy", fastmath=_FASTMATH)
@no_type_check
def _forward(x, parameters, a1, a2, logits):  # pragma: no cover - compiled
    w1, w2, w3, b1, b2, b3 = parameters
    units, rows = a1.shape
    zero = np.float32(0)
    np.dot(w1, x, a1)
    for j in range(units):
        row, bias = a1[j], b1[j]
        for i in range(rows):
            row[i] = max(row[i] + bias, zero)
    np.dot(w2, a1, a2)
    for i in range(rows):
        logits[i] = b3[0]
    for j in range(units):
        row, bias, weight = a2[j], b2[j], w3[j]
        for i in range(rows):
            value = max(row[i] + bias, zero)
            row[i] = value
            logits[i] += weight * value


@numba.njit(cache=True, error_model="numpy", fastmath=_FASTMATH)
@no_type_check
def _output(logits, y, delta):  # pragma: no cover - compiled
    """Writes the errors p - y of the logistic output; returns the log loss, summed over the rows."""
    one = np.float32(1)
    loss = 0.0
    for i in range(logits.shape[0]):
        p = one / (one + np.exp(-logits[i]))
        delta[i] = p - y[i]
        likelihood = p if y[i] > 0 else one - p
        loss -= np.log(min(max(likelihood, CLIP), one - CLIP))
    return loss


@numba.njit(cache=True, error_model="numpy", fastmath=_FASTMATH)
@no_type_check
def _backward(x, delta, parameters, a1, a2, d1, d2, gradients):  # pragma: no cover - compiled
    """Writes the gradients, summed over the rows."""
    _, w2, w3, _, _, _ = parameters
    g1, g2, g3, c1, c2, c3 = gradients
    units, rows = a1.shape
    zero = np.float32(0)
    total = zero
    for i in range(rows):
        total += delta[i]
    c3[0] = total
    for j in range(units):
        active, row, weight = a2[j], d2[j], w3[j]
        to_weight, to_bias = zero, zero
        for i in range(rows):
            value = weight * delta[i] if active[i] > zero else zero
            row[i] = value
            to_bias += value
            to_weight += delta[i] * active[i]
        g3[j] = to_weight
        c2[j] = to_bias
    np.dot(d2, a1.T, g2)
    np.dot(w2.T, d2, d1)
    for j in range(units):
        active, row = a1[j], d1[j]
        total = zero
        for i in range(rows):
            value = row[i] if active[i] > zero else zero
            row[i] = value
            total += value
        c1[j] = total
    np.dot(d1, x.T, g1)


@numba.njit(cache=True, error_model="numpy", fastmath=_FASTMATH)
@no_type_check
def _adam(params, gradient, first, second, weights, rows, step):  # pragma: no cover - compiled
    """One step of Adam in place; returns the squared norm of the weights before it."""
    rate = np.float32(LEARNING_RATE * np.sqrt(1 - BETA2**step) / (1 - BETA1**step))
    scale, penalty = np.float32(1 / rows), np.float32(PENALTY)
    keep1, keep2 = np.float32(BETA1), np.float32(BETA2)
    new1, new2, epsilon = np.float32(1 - BETA1), np.float32(1 - BETA2), np.float32(EPSILON)
    norm = np.float32(0)
    for i in range(weights):
        norm += params[i] * params[i]
        gradient[i] += penalty * params[i]
    for i in range(params.shape[0]):
        g = gradient[i] * scale
        first[i] = keep1 * first[i] + new1 * g
        second[i] = keep2 * second[i] + new2 * (g * g)
        params[i] -= rate * first[i] / (np.sqrt(second[i]) + epsilon)
    return norm


@numba.njit(cache=True, error_model="numpy")
@no_type_check
def train(
    x, y, orders, batch, h, params, first, second, best, stalled, epochs, done, max_epochs
):  # pragma: no cover - compiled
    """Trains each classifier that is not `done` through the epochs given by `orders`, or until it stops.

    x [M, n, m] and y [M, n] are the training sets of M classifiers; orders [E, n], shared by them, lists the
    rows as each epoch visits them. params, first and second [M, P] are the parameters and Adam's moments;
    best, stalled, epochs and done [M] the state of the stopping rule: these seven change in place.
    """
    classifiers, n, m = x.shape
    size = params.shape[1]
    weights = m * h + h * h + h
    a1, a2 = np.empty(h * batch, np.float32), np.empty(h * batch, np.float32)
    d1, d2 = np.empty(h * batch, np.float32), np.empty(h * batch, np.float32)
    inputs, targets = np.empty(m * batch, np.float32), np.empty(batch, np.float32)
    logits, delta = np.empty(batch, np.float32), np.empty(batch, np.float32)
    gradient = np.empty(size, np.float32)
    gradients = _parts(gradient, m, h)
    steps = (n + batch - 1) // batch
    for model in range(classifiers):
        parameters = _parts(params[model], m, h)
        for epoch in range(orders.shape[0]):
            if done[model]:
                break
            total = 0.0
            for start in range(0, n, batch):
                # The last minibatch of an epoch may be a short one: BLAS wants it contiguous all the same.
                rows = min(batch, n - start)
                xb, yb, zb, eb = (
                    inputs[: m * rows].reshape(m, rows),
                    targets[:rows],
                    logits[:rows],
                    delta[:rows],
                )
                a1b, a2b = a1[: h * rows].reshape(h, rows), a2[: h * rows].reshape(h, rows)
                d1b, d2b = d1[: h * rows].reshape(h, rows), d2[: h * rows].reshape(h, rows)
                for i in range(rows):
                    source = orders[epoch, start + i]
                    yb[i] = y[model, source]
                    for k in range(m):
                        xb[k, i] = x[model, source, k]
                _forward(xb, parameters, a1b, a2b, zb)
                total += _output(zb, yb, eb)
                _backward(xb, eb, parameters, a1b, a2b, d1b, d2b, gradients)
                step = epochs[model] * steps + start // batch + 1
                norm = _adam(params[model], gradient, first[model], second[model], weights, rows, step)
                total += 0.5 * PENALTY * norm
            loss = total / n
            epochs[model] += 1
            if loss > best[model] - TOLERANCE:
                stalled[model] += 1
            else:
                stalled[model] = 0
            if loss < best[model]:
                best[model] = loss
            # A NaN loss never improves: without this the training would go on to the limit of epochs.
            done[model] = stalled[model] > PATIENCE or epochs[model] >= max_epochs or loss != loss


@numba.njit(cache=True, error_model="numpy")
@no_type_check
def correct(x, y, h, params, out):  # pragma: no cover - compiled
    """Counts the rows of x [M, m, n] that each classifier assigns to their class y [M, n]."""
    classifiers, m, n = x.shape
    a1, a2 = np.empty((h, n), np.float32), np.empty((h, n), np.float32)
    logits = np.empty(n, np.float32)
    for model in range(classifiers):
        _forward(x[model], _parts(params[model], m, h), a1, a2, logits)
        count = 0
        for i in range(n):
            count += (logits[i] > 0) == (y[model, i] > 0)
        out[model] = count
