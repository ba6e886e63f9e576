"""A small finished run, made up: pictures, tables, a ledger, records of jobs, runs that are lost."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from config_files import resolved
from matplotlib.figure import Figure
from paths import ROOT

from tallsbi.storage.files import write_csv, write_text
from tallsbi.study import artifacts
from tallsbi.study.parts.study import Study
from tallsbi.study.report.gather import Sources, gather
from tallsbi.study.report.page import Page
from tallsbi.study.report.record import RunRecord
from tallsbi.study.tables.render import Table, to_latex, to_markdown

FIGURES = ("pedagogical", "toy_sw_vs_n", "sbibm_sw_vs_ntrain", "jrnmm_3d")
KEY_FIGURES = 3  # one for each part that has figures
ENDED = 1_700_000_000  # 2023-11-14 22:13:20 UTC
VERDICTS = ("holds", "does not hold", "undecided at this scale")
CLAIMS = 7


@dataclass(frozen=True)
class Run:
    """Where the run is, and what its page is made from."""

    sources: Sources
    record: RunRecord

    def gather(self) -> Page:
        return gather(self.sources, self.record)


def make_run(folder: Path, *, ledger: bool = True) -> Run:
    """Writes the run into `folder`, as results/<run> of a study."""
    run = folder / "results" / "smoke"
    distances = _distances(run / "sbibm" / "distances.csv")
    for index, name in enumerate(FIGURES):
        _draw(run / "figures" / f"{name}.png", index)
        write_text("%PDF", run / "figures" / f"{name}.pdf")
    _draw(run / "figures" / f"{FIGURES[0]}.svg", 0)
    made = {
        "toy_gaussian_sw_time": ("toy_sw_time", "Gaussian toy: time and distance", _toy_table()),
        "metric_summary": ("metric_summary", "Best method per metric", _wide_table()),
        "reference_certificates": ("reference_certificates", "Certificates", _certificates()),
    }
    if ledger:
        made["claims"] = ("claims", "Claims", Table(claims(), claims(), "All of them."))
    for name, (_, title, table) in made.items():
        write_csv(table.tidy, run / "tables" / f"{name}.csv")
        write_text(to_markdown(table, title), run / "tables" / f"{name}.md")
        write_text(to_latex(table, title), run / "tables" / f"{name}.tex")
    _record(run / "records" / "toy" / "a.tsv", seconds=60, cpu="90", memory=300, written=ENDED - 3600)
    _record(run / "records" / "sbibm" / "x" / "b.tsv", seconds=1800, cpu="3600", memory=900, written=ENDED)
    _record(run / "records" / "sbibm" / "x" / "c.tsv", seconds=36, cpu="NA", memory=100, written=ENDED)
    declared = artifacts.read(ROOT, Study(resolved())).page
    shown = [entry for entry in declared["made"] if entry["id"] in (*FIGURES, *made)]
    page = {
        "parts": declared["parts"],
        "made": [{**entry, "data": {"metrics": str(distances)}} for entry in shown],
        "config": resolved(),
        "versions": {"numpy": "2.0.0"},
    }
    sources = Sources(root=ROOT, run=run, page=run / "report" / "index.html")
    return Run(sources, RunRecord.from_params(page))


def claims() -> pd.DataFrame:
    """A ledger with all verdicts, a missing number, and text that is dangerous in HTML and Markdown."""
    frame = pd.DataFrame(
        {
            "id": [f"C{index:02d}" for index in range(1, CLAIMS + 1)],
            "section": ["4.1", "4.1", "4.2", "4.2", "4.3", "4.3", "abstract"],
            "claim": [
                "GAUSS stays close to the exact posterior p(theta | x) for all n.",
                "LANGEVIN is slower than GAUSS at the same number of steps.",
                "C2ST tells <b>every</b> method from the reference & fails.",
                "JAC needs clipping on SLCP.",
                "The posterior concentrates around the true parameter as n grows.",
                "The local test does not reject GAUSS.",
                "A claim about the whole, with a very long sentence that has to be broken over several lines on a "
                "narrow screen, as real claims sometimes are, without making the page scroll sideways.",
            ],
            "printed": [0.17, 0.45, np.nan, 0.31, 12.0, 0.05, 3.0],
            "measured": [0.18, 0.62, np.nan, 0.29, 11.0, 0.21, 2.0],
            "quantity": ["sW", "ratio, time", "", "C2ST", "sW", "p-value", "ratio, sW"],
            "uncertainty": [0.02, 0.1, np.nan, 0.05, 1.0, np.nan, np.nan],
            "count": [5, 5, 2, 2, 1, 5, 3],
            "units": ["seed", "round", "set", "set", "draw", "classifier", "task x set"],
            "verdict": [VERDICTS[index] for index in (0, 0, 1, 2, 0, 2, 1)],
            "reading": "The mean over the sets is compared with the printed one.",
            "test": "two standard errors",
            "data": ["metrics", "toy_gaussian_sw_time", "", "nowhere.csv", "", "", ""],
            "variant": ["wide prior", "", "", "", "", "", ""],
            "headline": True,
        }
    )
    # The first claim has a second row: the same under the other value of a switch.
    other = frame.iloc[[0]].assign(variant="prior N(0, I)", headline=False, measured=0.9, verdict=VERDICTS[1])
    return pd.concat([frame, other], ignore_index=True)


def _distances(path: Path) -> Path:
    rows = [
        {
            "task": task,
            "n_train": 100,
            "n": n,
            "set": index,
            "method": method,
            "steps": 50,
            "sw": 0.1 * n,
            "lost_share": 0.6 if (method, task, n) == ("LANGEVIN", "sir", 8) else 0.0,
            "reference_passed": (task, n, index) != ("slcp", 8, 1),
        }
        for task in ("sir", "slcp")
        for n in (1, 8)
        for index in (0, 1)
        for method in ("GAUSS", "LANGEVIN")
    ]
    write_csv(pd.DataFrame(rows), path)
    return path


def _toy_table() -> Table:
    shown = pd.DataFrame(
        {
            "method": ["GAUSS", "JAC", "LANGEVIN", "DET_GEF"],
            "T": [50, 1000, 150, 400],
            "time (s)": ["0.45 ± 0.01", "12.30 ± 0.20", "3.10 ± 0.10", "1.0e-3 ± 1.0e-4"],
            "sW": ["0.17 ± 0.02", "0.09 ± 0.01", "lost", "–"],
            "paper sW": ["0.17 ± 0.08", "0.10 ± 0.02", "nan", "–"],
        }
    )
    return Table(shown, shown, "Mean ± std over 5 seeds.")


def _wide_table() -> Table:
    shown = pd.DataFrame({f"column {index}": [f"{index}.{row}" for row in range(3)] for index in range(16)})
    return Table(shown, shown, "Wider than a telephone.")


def _certificates() -> Table:
    shown = pd.DataFrame({"task": ["SIR", "SLCP"], "n": [1, 8], "sets passed": ["2 of 2", "1 of 2"]})
    return Table(shown, shown, "1 of 4 references did not pass.")


def _draw(path: Path, index: int) -> None:
    figure = Figure(figsize=(3 + index, 2), dpi=150)
    figure.subplots().plot(np.arange(5), (index + 1) * np.arange(5))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _record(path: Path, *, seconds: float, cpu: str, memory: float, written: float) -> None:
    header = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"
    write_text(f"{header}\n{seconds}\t0:00:00\t{memory}\t1\t1\t1\t1\t1\t50\t{cpu}\n", path)
    os.utime(path, (written, written))
