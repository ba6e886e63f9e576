"""Sliced and max-sliced Wasserstein-2 distances (POT), and the distance of a reference to itself.

The sliced distance is the root mean square, over random directions, of the one-dimensional Wasserstein-2
distances; the max-sliced one is their maximum. Two finite samples of the same law have a positive
distance too: `baseline` measures it, so that it can be subtracted.
"""

import os

import numpy as np

# POT imports every array library it finds, which takes seconds each; these distances need numpy only.
for _library in ("PYTORCH", "JAX", "TENSORFLOW", "CUPY"):
    os.environ.setdefault(f"POT_BACKEND_DISABLE_{_library}", "1")


def sliced_wasserstein(a: np.ndarray, b: np.ndarray, projections: int, seed: int) -> tuple[float, float]:
    """Sliced and max-sliced distance of two samples [S, m]; NaN if any sample is not finite."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return np.nan, np.nan
    squared = projected_distances(np.asarray(a, np.float64), np.asarray(b, np.float64), projections, seed)
    return float(np.sqrt(squared.mean())), float(np.sqrt(squared.max()))


def projected_distances(a: np.ndarray, b: np.ndarray, projections: int, seed: int) -> np.ndarray:
    """Squared one-dimensional Wasserstein-2 distances along POT's random directions."""
    from ot.sliced import get_random_projections, sliced_wasserstein_distance

    if len(a) == len(b):
        # With equal numbers of samples the optimal plan pairs the order statistics: POT's general solver
        # gives the same numbers in fourteen times the time.
        directions = get_random_projections(a.shape[1], projections, seed)
        return np.square(np.sort(a @ directions, axis=0) - np.sort(b @ directions, axis=0)).mean(0)
    _, details = sliced_wasserstein_distance(a, b, n_projections=projections, p=2, seed=seed, log=True)
    return np.maximum(details["projected_emds"], 0)


def baseline(
    reference: np.ndarray, size: int, repeats: int, projections: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Mean distance between two disjoint subsets of `size` reference draws."""
    if 2 * size > len(reference):
        raise ValueError(
            f"Two disjoint subsets of {size} need {2 * size} reference draws, not {len(reference)}."
        )
    distances = []
    for _ in range(repeats):
        order = rng.permutation(len(reference))
        first, second = reference[order[:size]], reference[order[size : 2 * size]]
        distances.append(sliced_wasserstein(first, second, projections, int(rng.integers(2**31))))
    sliced, largest = np.mean(distances, axis=0)
    return float(sliced), float(largest)
