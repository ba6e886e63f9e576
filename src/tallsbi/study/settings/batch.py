"""Batches of work, as Snakemake names them (`scattergather:`): `1-of-5`, `2-of-5`, ..."""

import re


def share(size: int, name: str, along: str) -> slice:
    """The places, of `size` along a dimension, that belong to the batch `name`."""
    match = re.fullmatch(r"(\d+)-of-(\d+)", name)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"{name!r} names no batch: expected one like 1-of-5")
    batch, batches = int(match[1]), int(match[2])
    if batches > size:
        raise ValueError(f"cannot split {size} along {along!r} into {batches} batches: choose at most {size}")
    return slice((batch - 1) * size // batches, batch * size // batches)
