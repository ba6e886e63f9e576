"""Benchmarks: `python -m benchmarks` prints how fast the hot loops are, next to what they should be.

One file per entry: a module of this package with a function `run(rounds) -> list[Row]` (see
`benchmarks.report`). Nothing else has to know of it.
"""
