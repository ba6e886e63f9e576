"""Many small matrix inverses at once.

JAC inverts one m x m matrix per sample, observation and time step. LAPACK spends most of that time on the overhead
of its calls; a compiled elimination of many matrices side by side does not. Elimination without pivoting is
safe exactly where all pivots are positive and of comparable size, as for positive definite matrices. LAPACK
inverts every other matrix, with pivoting, so the result does not depend on the shortcut. Without numba, which compiles
it, LAPACK inverts all.
"""

from functools import cache
from importlib.util import find_spec

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tallsbi.shapes import Jacobians, Scores, States

_LAPACK_LIMIT = 64  # below this, LAPACK's overhead is smaller than that of loading the compiled kernel
# The smallest pivot over the largest from which on elimination without pivoting is trusted.
_PIVOT_RATIO = {torch.float32: 1e-4, torch.float64: 1e-9}


@cache
def _compiler() -> bool:
    return find_spec("numba") is not None


def inverse(
    matrices: Float[Tensor, "*batch m m"],
) -> tuple[Float[Tensor, "*batch m m"], Bool[Tensor, "*batch"]]:
    """Inverses, and which matrices have only positive pivots (for symmetric ones: are positive definite).

    A singular matrix gives a non-finite inverse, never an exception: a diverging run is a result.
    """
    if matrices.device.type != "cpu" or matrices.shape[:-2].numel() <= _LAPACK_LIMIT or not _compiler():
        inverses, _ = torch.linalg.inv_ex(matrices)
        finite = (matrices.isfinite() & inverses.isfinite()).all(-1).all(-1)
        return inverses, _positive_pivots(matrices) & finite
    from tallsbi.linalg.kernel import invert

    batch, m = matrices.shape[:-2], matrices.shape[-1]
    flat = matrices.detach().reshape(-1, m, m).contiguous()
    array = flat.numpy()
    inverses = np.empty_like(array)
    smallest, largest = np.empty(len(array), array.dtype), np.empty(len(array), array.dtype)
    invert(array, inverses, smallest, largest, *_scratch(m, array.dtype))
    result = torch.from_numpy(inverses)
    unsafe = torch.from_numpy(~(smallest > _PIVOT_RATIO[matrices.dtype] * largest))
    if bool(unsafe.any()):
        result[unsafe], _ = torch.linalg.inv_ex(flat[unsafe])
    positive = torch.from_numpy((smallest > 0) & np.isfinite(largest))
    return result.reshape(*batch, m, m), positive.reshape(batch)


def _positive_pivots(matrices: Float[Tensor, "*batch m m"]) -> Bool[Tensor, "*batch"]:
    rounding = 100 * torch.finfo(matrices.dtype).eps
    # Elimination serves every matrix; on a GPU it costs less than to ask whether they are symmetric.
    if matrices.device.type == "cpu" and bool(
        ((matrices - matrices.mT).abs() <= rounding * matrices.abs()).all()
    ):
        return torch.linalg.cholesky_ex(matrices)[1] == 0
    # Cholesky reads one triangle only; without symmetry the pivots come from plain elimination.
    work, positive = matrices, torch.ones(matrices.shape[:-2], dtype=torch.bool, device=matrices.device)
    for k in range(matrices.shape[-1]):
        pivot = work[..., k, k]
        positive = positive & (pivot > 0)  # False for NaN
        work = work - work[..., :, k, None] * work[..., k, None, :] / pivot[..., None, None]
    return positive


def excess_sums(
    scores: Scores, jacobians: Jacobians, sigma2: float
) -> tuple[Float[Tensor, "B S m m"], States]:
    """Sums over the observations of E_j = (I + sigma2 J_j)^-1 - I and of E_j s_j."""
    B, S, n, m = scores.shape
    if jacobians.device.type != "cpu" or not _compiler():
        excess = _excess(jacobians, sigma2)
        return excess.sum(2), torch.einsum("bsnij,bsnj->bsi", excess, scores)
    from tallsbi.linalg.kernel import accumulate

    flat_scores = scores.detach().reshape(-1, m).contiguous()
    flat = jacobians.detach().reshape(-1, m, m).contiguous()
    excess_sum, weighted_sum = scores.new_zeros(B * S, m, m), scores.new_zeros(B * S, m)
    unsafe = torch.zeros(len(flat), dtype=torch.bool)
    kind = flat.numpy().dtype.type
    accumulate(
        flat.numpy(),
        flat_scores.numpy(),
        n,
        kind(sigma2),
        kind(_PIVOT_RATIO[scores.dtype]),
        excess_sum.numpy(),
        weighted_sum.numpy(),
        unsafe.numpy(),
        *_scratch(m, flat.numpy().dtype),
    )
    if bool(unsafe.any()):
        index = unsafe.nonzero()[:, 0]
        excess = _excess(flat[index], sigma2)
        excess_sum.index_add_(0, index // n, excess)
        weighted_sum.index_add_(0, index // n, (excess @ flat_scores[index][..., None])[..., 0])
    return excess_sum.reshape(B, S, m, m), weighted_sum.reshape(B, S, m)


def _excess(jacobians: Tensor, sigma2: float) -> Tensor:
    kernel = sigma2 * jacobians
    kernel.diagonal(dim1=-2, dim2=-1).add_(1)
    excess, _ = torch.linalg.inv_ex(kernel)
    excess.diagonal(dim1=-2, dim2=-1).sub_(1)
    return excess


def _scratch(m: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Working memory of the kernels; unused lanes hold an identity, so that they never divide by zero."""
    from tallsbi.linalg.kernel import LANES

    return np.tile(np.eye(m, dtype=dtype)[..., None], (1, 1, LANES)), np.zeros((3, LANES), dtype)
