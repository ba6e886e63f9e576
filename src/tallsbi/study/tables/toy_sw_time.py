"""Time and accuracy against the number of steps at one cell: tables toy_gaussian_sw_time and toy_gmm_sw_time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tallsbi.study.tables.render import Table, mean_std, printed, spread

METRICS = ("sw", "max_sw")


def make(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Table:
    """`data`: distances of the cell for every T (`steps`), `timing`, and the `paper`'s printed rows."""
    cell, headline = settings["cell"], settings["metric"].removesuffix("_norm")
    distances = _at_cell(data["steps"], cell, settings["problem"])
    times = data["timing"]
    times = times[
        (times.problem == settings["problem"]) & (times.m == cell["dim"]) & (times.n == cell["n_obs"])
    ]
    paper = data["paper"].set_index(["method", "steps"])
    rows, shown = [], []
    methods = list(dict.fromkeys(distances.method))
    for steps in sorted(distances.steps.unique()):
        for method in methods:
            part = distances[(distances.method == method) & (distances.steps == steps)]
            if part.empty:
                continue
            seconds = times[(times.method == method) & (times.steps == steps)].seconds
            known = (method, steps) in paper.index
            printed_row = paper.loc[(method, steps)] if known else paper.reindex([(method, steps)]).iloc[0]
            row = {
                "method": method,
                "steps": int(steps),
                "seeds": len(part),
                "diverged": int(part.sw.isna().sum()),
            }
            row |= {
                "seconds": seconds.median(),
                "seconds_std": seconds.std(),
                "seconds_paper": printed_row.seconds,
            }
            for metric in METRICS:
                summary = mean_std(part[metric])
                row |= {metric: summary["mean"], f"{metric}_std": summary["std"]}
            row |= {f"{headline}_paper": printed_row.sw, f"{headline}_paper_std": printed_row.sw_std}
            rows.append(row)
            shown.append(
                {
                    "method": method,
                    "T": int(steps),
                    "time (s)": "–" if seconds.empty else spread(row["seconds"], row["seconds_std"]),
                    "paper time (s)": printed(printed_row.seconds, printed_row.seconds_std, known),
                    "sW": spread(row["sw"], row["sw_std"]),
                    "max-sW": spread(row["max_sw"], row["max_sw_std"]),
                    f"paper {_LABEL[headline]}": printed(printed_row.sw, printed_row.sw_std, known),
                }
            )
    tidy = pd.DataFrame(rows)
    tidy.insert(0, "problem", settings["problem"])
    return Table(tidy, pd.DataFrame(shown), _note(settings, tidy, headline))


_LABEL = {"sw": "sW", "max_sw": "max-sW"}


def _at_cell(distances: pd.DataFrame, cell: Mapping[str, Any], problem: str) -> pd.DataFrame:
    at = (distances.problem == problem) & (distances.m == cell["dim"]) & (distances.n == cell["n_obs"])
    return distances[at & (distances.noise == cell["noise"])]


def _note(settings: Mapping[str, Any], tidy: pd.DataFrame, headline: str) -> str:
    cell = settings["cell"]
    return (
        f"Problem {settings['problem']}, m = {cell['dim']}, n = {cell['n_obs']}, noise {cell['noise']}, "
        f"{settings['samples']} samples. Distances: mean ± std over {int(tidy.seeds.max())} seeds, raw (the "
        "reference's self-distance not subtracted); 'diverged': at least one seed has non-finite samples. "
        f"Time: median ± std over {settings['repeats']} rounds, {settings['timing_samples']} samples, one CPU "
        "thread, covariance runs of GAUSS included; the paper's times are those of a GPU with 1000 samples. "
        f"The paper's distance is printed as sW and was computed as the max-sliced one; it stands beside our "
        f"{_LABEL[headline]}. Its ± is 1.96 standard errors."
    )
