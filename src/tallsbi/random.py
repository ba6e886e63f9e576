"""Random streams by name: every stream derives from the study seed and the name of its use, nothing else.

A stream is named by strings and numbers, e.g. ``("toy", "JAC", 0.01, 3)``. Streams do not depend on the
order in which they are asked for, on the process, or on what else is computed, so one job can be rerun
alone. Names are hashed with their types and lengths: ``("a", "bc")`` and ``("ab", "c")`` differ, and so do
``1`` and ``"1"``. Equal numbers name the same stream (``1`` and ``1.0``, ``0.0`` and ``-0.0``), because
a number may come as an integer from a settings file and as a float from a coordinate.
"""

import hashlib
import math
import operator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

Name = str | int | float


def seed_sequence(study_seed: int, *names: Name) -> np.random.SeedSequence:
    """The seed sequence of the named stream."""
    return np.random.SeedSequence(int.from_bytes(_digest(study_seed, names), "big"))


def integer_seed(study_seed: int, *names: Name) -> int:
    """A seed of the named stream for libraries that take one integer; it fits a signed 64-bit integer."""
    return int(seed_sequence(study_seed, *names).generate_state(1, "uint64")[0]) >> 1


def numpy_generator(study_seed: int, *names: Name) -> np.random.Generator:
    """The numpy generator of the named stream."""
    return np.random.default_rng(seed_sequence(study_seed, *names))


def torch_generator(study_seed: int, *names: Name, device: "str | torch.device" = "cpu") -> "torch.Generator":
    """The torch generator of the named stream.

    On the CPU torch keeps 32 bits of a seed: among n streams, two coincide with a probability of about
    n² / 2³³, below two per cent for ten thousand streams.
    """
    import torch

    return torch.Generator(device=device).manual_seed(integer_seed(study_seed, *names))


def _digest(study_seed: int, names: tuple[Name, ...]) -> bytes:
    digest = hashlib.sha256()
    for part in (_study_seed(study_seed), *names):
        tag, payload = _encoded(part)
        digest.update(f"{tag}{len(payload)}:".encode() + payload)
    return digest.digest()


def _study_seed(value: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"the study seed is {value!r}: it must be an integer")
    return operator.index(value)


def _encoded(name: Name) -> tuple[str, bytes]:
    if isinstance(name, str):
        return "s", name.encode()
    if hasattr(name, "__index__") and not isinstance(name, bool):
        return "i", str(operator.index(name)).encode()
    if isinstance(name, float) and math.isfinite(name):
        if name.is_integer():
            return "i", str(int(name)).encode()
        return "f", repr(float(name)).encode()
    raise TypeError(
        f"{name!r} ({type(name).__name__}) cannot name a random stream: "
        "use a string, an integer or a finite float"
    )
