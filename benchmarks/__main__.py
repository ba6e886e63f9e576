"""`python -m benchmarks [entry ...] [--rounds N] [--strict]`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

import benchmarks as package
from benchmarks.report import Row, table

# `c2st` holds the pairs that the entry `c2st_speed` compares on; `peers` is `make bench-peers`.
NOT_ENTRIES = {"__main__", "c2st", "peers", "report"}


def entries() -> list[str]:
    return [
        module.name for module in pkgutil.iter_modules(package.__path__) if module.name not in NOT_ENTRIES
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=package.__doc__)
    parser.add_argument("entry", nargs="*", help=f"which ones to run (default: all): {', '.join(entries())}")
    parser.add_argument(
        "--rounds", type=int, default=15, help="repetitions, the fastest counts (default: 15)"
    )
    parser.add_argument("--strict", action="store_true", help="end with status 1 if a bar is missed")
    options = parser.parse_args(arguments)
    unknown = set(options.entry) - set(entries())
    if unknown:
        parser.error(f"no entry {', '.join(sorted(unknown))}: there are {', '.join(entries())}")
    import torch

    torch.set_num_threads(1)
    rows: list[Row] = []
    for name in options.entry or entries():
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"{package.__name__}.{name}").run(options.rounds)
    print(table(rows))
    return 1 if options.strict and not all(row.ok for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
