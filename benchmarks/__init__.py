"""Speed benchmarks: `python -m benchmarks`, from the root of the repository, times the hot loops against their bars.

One file per benchmark: a module of this package with a function `run(rounds) -> list[Row]` (see
`benchmarks.report`). No list names it.
"""
