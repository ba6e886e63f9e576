"""Draws for many datasets: in blocks that fit into memory, each dataset with a random stream of its own."""

import hashlib

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm
from tallsbi.api import failures
from tallsbi.api.engine import Engine
from tallsbi.progress import Progress
from tallsbi.random import torch_generator
from tallsbi.shapes import Observations, States

_LARGEST_ARRAY = 30_000_000  # numbers in the largest array of a block of datasets
_BAR_DELAY = 3.0  # seconds before a bar appears that was not asked for


def draw(
    engine: Engine,
    algorithm: Algorithm,
    method: str,
    x: Observations,
    samples: int,
    seed: int,
    progress: bool | None,
) -> States:
    """Draws for every dataset, with warnings of what went wrong."""
    width = max(samples, getattr(algorithm, "cov_samples", 0))
    size = max(1, _LARGEST_ARRAY // (width * min(x.shape[1], 100) * engine.prior.dim))
    runs = []
    for block in x.split(size):
        generators = [_stream(seed, dataset) for dataset in block]
        runs.append(engine.sample(algorithm, block, samples, generators, bar(method, progress)))
    theta = torch.cat([run.theta for run in runs])
    lost = torch.cat([run.health.lost_definiteness for run in runs])
    failures.warn(method, theta, engine.prior, lost)
    return theta


def _stream(seed: int, dataset: Float[Tensor, "n d"]) -> torch.Generator:
    """A stream named by the content of the dataset, so that draws do not depend on the datasets beside it."""
    digest = hashlib.sha256(dataset.contiguous().numpy().tobytes()).hexdigest()
    return torch_generator(seed, "api", "draws", digest)


def bar(label: str, show: bool | None = None, total: int | None = None) -> Progress:
    """A bar: always, never, or (None) in terminals and notebooks once a loop takes longer than a few seconds."""
    if show is False:
        return iter
    from tqdm.auto import tqdm

    options = {"disable": None, "delay": _BAR_DELAY} if show is None else {}
    return lambda items: tqdm(items, desc=label, total=total, leave=show is True, **options)
