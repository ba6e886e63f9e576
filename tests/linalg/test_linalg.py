"""Batched inverses against LAPACK in float64, whatever the matrices and however many there are."""

import numpy as np
import pytest
import torch
from oracles import random_covariance

from tallsbi.linalg import batched
from tallsbi.linalg.batched import excess_sums, inverse

COUNTS = [1, 63, 64, 65, 127, 128, 129, 300]
DTYPES = [torch.float32, torch.float64]
EPSILON = {torch.float32: 1.2e-7, torch.float64: 2.3e-16}


def definite(rng, m):
    return random_covariance(rng, m, 0.05, 20.0)


def nonsymmetric(rng, m):
    return np.eye(m) + 0.6 * rng.standard_normal((m, m))


def indefinite(rng, m):
    axes, _ = np.linalg.qr(rng.standard_normal((m, m)))
    values = np.geomspace(0.1, 10, m)
    values[0] *= -1
    return (axes * values) @ axes.T


def zero_pivot(rng, m):
    """Invertible, but its first pivot is zero."""
    return np.roll(np.eye(m), 1, axis=0) * 2 if m > 1 else np.array([[3.0]])


def batch(kind, count, m, dtype):
    rng = np.random.default_rng([count, m])
    return torch.from_numpy(np.stack([kind(rng, m) for _ in range(count)])).to(dtype)


def positive_pivots(matrices):
    """All leading principal minors positive, in float64."""
    minors = [np.linalg.det(matrices[..., :k, :k]) for k in range(1, matrices.shape[-1] + 1)]
    return np.all(np.stack(minors) > 0, axis=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [1, 2, 5, 10])
@pytest.mark.parametrize("kind", [definite, nonsymmetric, indefinite, zero_pivot])
def test_inverse_is_lapacks(kind, m, dtype):
    """Relative error below 50 eps times the condition number, the size LAPACK itself promises."""
    for count in COUNTS:
        matrices = batch(kind, count, m, dtype)
        exact = np.linalg.inv(matrices.double().numpy())
        inverses, positive = inverse(matrices)
        error = np.linalg.norm(inverses.double().numpy() - exact, axis=(1, 2)) / np.linalg.norm(
            exact, axis=(1, 2)
        )
        condition = np.linalg.cond(matrices.double().numpy())
        limit = 50 if dtype == torch.float32 else 1e6  # without pivoting up to a pivot ratio of 1e-9
        assert bool((error < limit * EPSILON[dtype] * condition).all())
        assert positive.tolist() == positive_pivots(matrices.double().numpy()).tolist()


@pytest.mark.parametrize("count", [3, 200])
def test_flags_of_symmetric_matrices_mean_definiteness(count):
    assert bool(inverse(batch(definite, count, 4, torch.float64))[1].all())
    assert not bool(inverse(batch(indefinite, count, 4, torch.float64))[1].any())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [3, 64, 65, 200])
def test_bad_matrices_neither_raise_nor_spoil_their_neighbours(count, dtype):
    matrices = batch(definite, count, 3, dtype)
    clean, _ = inverse(matrices)
    matrices[0] = torch.ones(3, 3)  # singular
    matrices[1, 1, 2] = torch.nan
    matrices[2] = 0
    inverses, positive = inverse(matrices)
    assert not bool(inverses[:3].isfinite().all(-1).all(-1).any())
    assert not bool(positive[:3].any())
    torch.testing.assert_close(inverses[3:], clean[3:])
    assert bool(positive[3:].all())


@pytest.mark.parametrize("count", [2, 100])
def test_infinite_entries_are_not_positive(count):
    matrices = batch(definite, count, 3, torch.float64)
    matrices[0, 0, 0] = torch.inf
    assert inverse(matrices)[1].tolist() == [False] + [True] * (count - 1)


def test_leading_axes_are_kept():
    matrices = batch(definite, 120, 3, torch.float64).reshape(4, 5, 6, 3, 3)
    inverses, positive = inverse(matrices)
    assert inverses.shape == (4, 5, 6, 3, 3)
    assert positive.shape == (4, 5, 6)
    torch.testing.assert_close(inverses @ matrices, torch.eye(3, dtype=torch.float64).expand(4, 5, 6, 3, 3))


def test_the_input_is_not_changed():
    for count in (3, 100):
        matrices = batch(definite, count, 3, torch.float64)
        copy = matrices.clone()
        inverse(matrices)
        assert torch.equal(matrices, copy)


def test_strided_input():
    wide = batch(definite, 200, 4, torch.float64)
    torch.testing.assert_close(inverse(wide.mT[::2])[0], torch.linalg.inv(wide[::2].mT))
    expanded = wide[:1].expand(150, 4, 4)
    torch.testing.assert_close(inverse(expanded)[0], torch.linalg.inv(expanded))


def plain_excess_sums(scores, jacobians, sigma2):
    """Observation by observation, in float64."""
    eye = np.eye(scores.shape[-1])
    excess = np.linalg.inv(eye + sigma2 * jacobians.double().numpy()) - eye
    return excess.sum(2), np.einsum("bsnij,bsnj->bsi", excess, scores.double().numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("B", "S", "n"), [(1, 1, 2), (2, 16, 4), (3, 7, 5), (1, 50, 3)])
@pytest.mark.parametrize("kind", [definite, nonsymmetric, indefinite])
def test_excess_sums_are_plain_sums(kind, B, S, n, dtype):
    """Indefinite Jacobians take the pivoting path, the others the compiled one; some batches mix both."""
    m, sigma2 = 4, 0.3
    jacobians = -0.1 * batch(kind, B * S * n, m, dtype).reshape(B, S, n, m, m)
    jacobians[0, 0, 0] = -jacobians[0, 0, 0] * 40
    scores = batch(nonsymmetric, B * S * n, m, dtype)[:, 0].reshape(B, S, n, m).contiguous()
    excess, weighted = excess_sums(scores, jacobians, sigma2)
    expected = plain_excess_sums(scores, jacobians, sigma2)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    for value, exact in zip((excess, weighted), expected, strict=True):
        assert np.abs(value.double().numpy() - exact).max() < tolerance * (1 + np.abs(exact).max())


def test_excess_sums_of_bad_jacobians_stay_with_their_sample():
    jacobians = -0.04 * batch(definite, 2 * 40 * 3, 3, torch.float64).reshape(2, 40, 3, 3, 3)
    scores = torch.ones(2, 40, 3, 3, dtype=torch.float64)
    clean, _ = excess_sums(scores, jacobians, 0.5)
    jacobians[0, 3, 1, 0, 0] = torch.nan
    jacobians[1, 7, 2] = -2 * torch.eye(3)  # I + 0.5 J = 0
    excess, _ = excess_sums(scores, jacobians, 0.5)
    good = torch.ones(2, 40, dtype=torch.bool)
    good[0, 3] = good[1, 7] = False
    assert torch.equal(excess.isfinite().all(-1).all(-1), good)
    torch.testing.assert_close(excess[good], clean[good])


def test_without_a_compiler_the_results_are_the_same(monkeypatch):
    draws = torch.Generator().manual_seed(5)
    factor = torch.randn(2, 40, 3, 4, 4, generator=draws, dtype=torch.float64)
    jacobians, scores = (
        -factor @ factor.mT / 50,
        torch.randn(2, 40, 3, 4, generator=draws, dtype=torch.float64),
    )
    matrices = (factor @ factor.mT).flatten(0, 2) + torch.eye(4, dtype=torch.float64)
    compiled = [*inverse(matrices), *excess_sums(scores, jacobians, 0.3)]
    monkeypatch.setattr(batched, "_compiler", lambda: False)
    for one, other in zip(compiled, [*inverse(matrices), *excess_sums(scores, jacobians, 0.3)], strict=True):
        torch.testing.assert_close(one, other)
