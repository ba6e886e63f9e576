"""`python -m benchmarks [name ...] [--rounds N] [--strict]`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

import benchmarks as package
from benchmarks.report import Row, table

# What the benchmarks share, and programs that are run by their own names.
NO_BENCHMARKS = {
    *("__main__", "exact_posterior", "problems", "report"),
    *("horizon", "peers", "precision_table", "refined", "tall"),
}


def names() -> list[str]:
    modules = pkgutil.iter_modules(package.__path__)
    return [module.name for module in modules if module.name not in NO_BENCHMARKS]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=package.__doc__)
    parser.add_argument("name", nargs="*", help=f"which ones to run (default: all): {', '.join(names())}")
    parser.add_argument("--rounds", type=int, default=15, help="repetitions, the median counts (default: 15)")
    parser.add_argument("--strict", action="store_true", help="end with status 1 if a bar is missed")
    options = parser.parse_args(arguments)
    unknown = set(options.name) - set(names())
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(names())}")
    import torch

    torch.set_num_threads(1)
    rows: list[Row] = []
    for name in options.name or names():
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"{package.__name__}.{name}").run(options.rounds)
    print(table(rows))
    return 1 if options.strict and not all(row.ok for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
