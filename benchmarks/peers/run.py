"""The loop over problems, networks, ways to draw and n; what is in the folder already is not computed again."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.peers.case import Case
from benchmarks.peers.ledger import LEVEL, Ledger, Row, measured
from benchmarks.peers.rival import Rival
from benchmarks.problems import problem

EXACT = "exact posterior"


@dataclass(frozen=True)
class Plan:
    folder: Path
    problems: tuple[str, ...]
    sizes: tuple[int, ...] = (1, 10, 30, 100)
    simulations: int = 20_000
    datasets: int = 12
    samples: int = 1000
    rows: Path | None = None  # by default in the folder

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.rows or self.folder / "peers.csv")

    def case(self, name: str) -> Case:
        return Case(problem(name), self.simulations, self.datasets, max(100, *self.sizes))


def compare(plan: Plan, rivals: Iterable[Rival], say: Callable[[str], None]) -> Ledger:
    """One network after the other for all problems, so that the first ones are complete early."""
    ledger = plan.ledger
    for rival in rivals:
        if missing := rival.missing():
            say(f"{rival.name} is left out: {missing}")
            continue
        for name in plan.problems:
            case = plan.case(name)
            for n in plan.sizes:
                for method in rival.methods:
                    key = name, method, n, plan.simulations, plan.datasets
                    if ledger.has(*key):
                        continue
                    reason = rival.skipped(method, case, n)
                    if reason:
                        say(f"{name}, {method}, n = {n}: left out, {reason}")
                        continue
                    row = _row(plan, rival, case, method, n, say)
                    ledger.add(row)
                    say(_line(row))
                if not ledger.has(name, EXACT, n, plan.simulations, plan.datasets):
                    ledger.add(_exact_row(plan, case, n))
    return ledger


def forget(plan: Plan, rivals: Iterable[Rival]) -> None:
    """Rows and networks of the plan's problems, so that they are measured again; exact posteriors stay."""
    for rival in rivals:
        plan.ledger.forget(plan.problems, rival.methods)
        for name in plan.problems:
            shutil.rmtree(_network_folder(plan, rival, name), ignore_errors=True)


def _network_folder(plan: Plan, rival: Rival, name: str) -> Path:
    return plan.folder / "networks" / rival.name / f"{name}-{plan.simulations}"


def trained(plan: Plan, rival: Rival, case: Case, say: Callable[[str], None]) -> tuple[Path, float]:
    """The folder of the network, and the CPU seconds that it took when it was trained."""
    folder = _network_folder(plan, rival, case.task.name)
    record = folder / "trained.json"
    if not record.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps({"seconds": rival.train(case, folder)}))
        say(f"{case.task.name}, {rival.name}: {json.loads(record.read_text())['seconds']:.0f} CPU s to train")
    return folder, json.loads(record.read_text())["seconds"]


def _row(plan: Plan, rival: Rival, case: Case, method: str, n: int, say: Callable[[str], None]) -> Row:
    folder, seconds = trained(plan, rival, case, say)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        draws, sampling = rival.draw(method, case, folder, n, min(plan.samples, rival.samples))
    warned = sorted({str(w.message).splitlines()[0] for w in caught if w.category is UserWarning})
    return Row(
        problem=case.task.name,
        method=method,
        n=n,
        simulations=plan.simulations,
        datasets=plan.datasets,
        **measured(draws, case.truth.double().numpy(), case.exact(n, plan.folder)),
        train_seconds=round(seconds, 1),
        sample_seconds=round(sampling / plan.datasets, 3),
        note="; ".join(warned)[:200],
    )


def _exact_row(plan: Plan, case: Case, n: int) -> Row:
    """What a perfect method would show on these datasets: so few true parameters are not covered to 90 per cent."""
    exact = case.exact(n, plan.folder)
    mean, deviation = (
        np.stack([getattr(posterior, name) for posterior in exact]) for name in ("mean", "deviation")
    )
    z = (case.truth.double().numpy() - mean) / deviation
    inside = float((np.abs(z) < stats.norm.ppf((1 + LEVEL) / 2)).mean())
    key = case.task.name, EXACT, n, plan.simulations, plan.datasets
    return Row(*key, 0.0, 1.0, 1.0, inside, 0.0, 0.0, 0.0)


def _line(row: Row) -> str:
    return (
        f"{row.problem:16s} {row.method:22s} n = {row.n:3d}  offset {row.offset:.2f}  spread {row.spread:.2f}  "
        f"Ez {row.expected_z:.2f}  coverage {row.coverage:.2f}  strays {row.strays:.1%}  "
        f"{row.train_seconds:.0f} + {row.sample_seconds:.1f} s"
    )
