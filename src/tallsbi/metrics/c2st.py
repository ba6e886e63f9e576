"""Classifier two-sample test (Lopez-Paz & Oquab 2017) as sbibm defines it; the paper's section 4.2 uses it.

The value is the cross-validated accuracy of a classifier that tells samples from reference draws: 0.5 if it
cannot, 1 if it always can. Both samples are standardised with the mean and standard deviation of the
reference; the classifier, with two hidden layers of 10 m units, is trained on four fifths of the rows and
tested on the rest, in turn.

Two backends compute the same thing. "sbibm" calls sbibm, which trains scikit-learn's classifiers one by one.
"batched" trains them with `tallsbi.metrics.c2st_batched`, several times faster, and differs from sbibm by
floating-point rounding only. Both compute in float32.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32

from tallsbi.metrics.c2st_batched import FOLDS, cross_validated_accuracies
from tallsbi.random import Name, integer_seed

Backend = Literal["batched", "sbibm"]
Pair = tuple[np.ndarray, np.ndarray]

# Comparisons handed to the batched backend at a time: their copies of the data stay below some 100 MB.
_COMPARISONS_AT_ONCE = 16


def c2st(
    pairs: Sequence[Pair],
    *,
    seed: int,
    backend: Backend = "batched",
    names: Sequence[Name | tuple[Name, ...]] | None = None,
) -> Float[np.ndarray, "_"]:
    """Accuracy for each pair (samples [S, m], reference [R, m]); NaN where a sample is not finite.

    Without names every pair uses the random stream of `seed`, as sbibm does with its seed 1; with names, each
    uses a stream of its own, derived from `seed` and its name. Either way its value depends on nothing else.
    """
    seeds = _pair_seeds(len(pairs), seed, names)
    for index, (samples, reference) in enumerate(pairs):
        _check(index, samples, reference)
    # Overflow and a reference that does not vary count as not finite, as they do in scikit-learn.
    finite = [index for index, pair in enumerate(pairs) if np.isfinite(_standardised(*pair)).all()]
    values = np.full(len(pairs), np.nan)
    if backend == "sbibm":
        for index in finite:
            values[index] = _sbibm(*pairs[index], seeds[index])
    elif backend == "batched":
        values[finite] = _batched([pairs[index] for index in finite], [seeds[index] for index in finite])
    else:
        raise ValueError(f'c2st_backend is {backend!r}: use "batched" or "sbibm"')
    return values


def _pair_seeds(count: int, seed: int, names: Sequence[Name | tuple[Name, ...]] | None) -> list[int]:
    """A seed for each pair that numpy's legacy generator takes: 32 bits."""
    if names is None:
        if not 0 <= seed < 2**32:
            raise ValueError(f"the C2ST seed is {seed}: without names it must be in 0 ... 2**32 - 1")
        return [seed] * count
    if len(names) != count:
        raise ValueError(f"{len(names)} names for {count} pairs of samples: give one name per pair")
    parts = [name if isinstance(name, tuple) else (name,) for name in names]
    return [integer_seed(seed, "c2st", *part) % 2**32 for part in parts]


def _check(index: int, samples: np.ndarray, reference: np.ndarray) -> None:
    shapes = f"pair {index} has samples {samples.shape} and reference {reference.shape}"
    if samples.ndim != 2 or reference.ndim != 2 or samples.shape[1] != reference.shape[1]:
        raise ValueError(f"{shapes}: both must be [rows, m] with the same m")
    if min(len(samples), len(reference)) < FOLDS:
        raise ValueError(f"{shapes}: each must have at least {FOLDS} rows, one per fold")


def _batched(pairs: Sequence[Pair], seeds: Sequence[int]) -> Float[np.ndarray, "_"]:
    values = np.empty(len(pairs))
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for index, (samples, reference) in enumerate(pairs):
        by_shape.setdefault((seeds[index], len(samples), *reference.shape), []).append(index)
    for (seed, sample_rows, reference_rows, _), members in by_shape.items():
        labels = np.repeat(np.array([0, 1], np.float32), [reference_rows, sample_rows])
        for start in range(0, len(members), _COMPARISONS_AT_ONCE):
            block = members[start : start + _COMPARISONS_AT_ONCE]
            data = np.stack([_standardised(*pairs[index]) for index in block])
            values[block] = cross_validated_accuracies(data, labels, seed)
    return values


def _standardised(samples: np.ndarray, reference: np.ndarray) -> Float32[np.ndarray, "_ m"]:
    """Reference and samples, in this order, in units of the reference's standard deviation."""
    samples, reference = np.asarray(samples, np.float64), np.asarray(reference, np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        rows = (np.concatenate([reference, samples]) - reference.mean(0)) / reference.std(0, ddof=1)
        return rows.astype(np.float32)


def _sbibm(samples: np.ndarray, reference: np.ndarray, seed: int) -> float:
    import torch
    from sbibm.metrics.c2st import c2st as reference_implementation

    def tensor(values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.asarray(values, np.float32))

    try:
        return float(reference_implementation(tensor(reference), tensor(samples), seed=seed))
    except ValueError:  # scikit-learn's answer to a training that diverged in every fold
        return np.nan
