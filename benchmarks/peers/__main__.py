"""`python -m benchmarks.peers [problems | exact | slice | table]`, the first of them by default.

problems: NLE, `TallPosterior`, sbi's score methods and BayesFlow on problems with known posteriors, after 20,000
simulations each. It takes hours; what is measured is kept in --folder, and a run that stops goes on from there.
exact: the ways to compose a score alone, on the exact one. slice: NLE's posterior by importance sampling beside slice
sampling. table: the tables of docs/peers.md, of what is in --folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.peers import exact_score, nle
from benchmarks.peers.bayesflow_rival import BayesFlow
from benchmarks.peers.ours import Ours
from benchmarks.peers.rival import Rival
from benchmarks.peers.run import Plan, compare, forget, trained
from benchmarks.peers.sbi_scores import ScoresOfSbi
from benchmarks.peers.slice_check import check
from benchmarks.peers.table import put_into, tables
from benchmarks.problems import FIVE, MAKERS

RIVALS: dict[str, Callable[[], Rival]] = {
    rival.name: rival for rival in (nle.NLE, Ours, ScoresOfSbi, BayesFlow)
}
COMMANDS = ("problems", "exact", "slice", "table")


def say(text: str) -> None:
    print(text, flush=True)


def parser() -> argparse.ArgumentParser:
    wanted = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    wanted.add_argument("command", nargs="?", choices=COMMANDS, default="problems")
    wanted.add_argument("--problem", nargs="+", choices=MAKERS, default=FIVE)
    wanted.add_argument("--network", nargs="+", choices=RIVALS, default=list(RIVALS), help="trained by whom")
    wanted.add_argument("--sizes", type=int, nargs="+", default=[1, 10, 30, 100], help="n")
    wanted.add_argument("--simulations", type=int, default=20_000)
    wanted.add_argument("--datasets", type=int, default=12)
    wanted.add_argument(
        "--samples", type=int, default=1000, help="for each dataset; composed samplers take 200"
    )
    wanted.add_argument("--folder", type=Path, default=Path("build/peers"))
    wanted.add_argument(
        "--rows", type=Path, help="the file of what is measured (default: peers.csv in --folder)"
    )
    wanted.add_argument(
        "--again", action="store_true", help="forget what the networks of --network had measured"
    )
    wanted.add_argument("--page", type=Path, help="where the tables are put in, such as docs/peers.md")
    return wanted


def main(arguments: list[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["exact"]:
        return exact_score.main(words[1:])
    options = parser().parse_args(words)
    torch.set_num_threads(1)
    sizes = tuple(options.sizes)
    plan = Plan(
        options.folder,
        tuple(options.problem),
        sizes,
        options.simulations,
        options.datasets,
        options.samples,
        options.rows,
    )
    if options.command == "problems":
        rivals = [RIVALS[name]() for name in options.network]
        if options.again:
            forget(plan, rivals)
        compare(plan, rivals, say)
    if options.command == "slice":
        for name in plan.problems:
            case = plan.case(name)
            folder, _ = trained(plan, nle.NLE(), case, say)
            check(case, folder, sizes, options.samples, say)
    else:
        rows = plan.ledger.frame()
        say(tables(rows))
        if options.page:
            put_into(options.page, rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
