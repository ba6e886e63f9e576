"""Time and accuracy against the number of steps at one cell: tables toy_gaussian_sw_time and toy_gmm_sw_time."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from tallsbi.study.analysis.hardware import timed_on
from tallsbi.study.analysis.validity import LOST_MEANING
from tallsbi.study.settings.artifacts import ToyTables
from tallsbi.study.tables.render import Table, mean_std, printed, spread

LABELS = {"sw": "sW", "max_sw": "max-sW"}


def make(data: Mapping[str, pd.DataFrame], settings: ToyTables) -> Table:
    """`data`: distances of the cell for every T (`steps`), `timing`, and the `paper`'s printed rows."""
    paper_metric = settings.metric.removesuffix("_norm")
    distances, times = distances_at_cell(data["steps"], settings), _at_cell(data["timing"], settings)
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
            row = {"method": method, "steps": int(steps), "seeds": len(part)}
            row |= {"lost": int(part.sw.isna().sum()), "seconds": seconds.median()}
            row |= {"seconds_std": seconds.std(), "seconds_paper": printed_row.seconds}
            for metric in LABELS:
                mean, std = mean_std(part[metric])
                row |= {metric: mean, f"{metric}_std": std}
            row |= {f"{paper_metric}_paper": printed_row.sw, f"{paper_metric}_paper_std": printed_row.sw_std}
            rows.append(row)
            shown.append(
                {
                    "method": method,
                    "T": int(steps),
                    "time (s)": "–" if seconds.empty else spread(row["seconds"], row["seconds_std"]),
                    "paper time (s)": printed(printed_row.seconds, printed_row.seconds_std, known),
                    "sW": spread(row["sw"], row["sw_std"]),
                    "max-sW": spread(row["max_sw"], row["max_sw_std"]),
                    f"paper {LABELS[paper_metric]}": printed(printed_row.sw, printed_row.sw_std, known),
                }
            )
    tidy = pd.DataFrame(rows)
    tidy.insert(0, "problem", settings.problem)
    return Table(tidy, pd.DataFrame(shown), _note(settings, tidy, paper_metric, timed_on(times)))


def distances_at_cell(frame: pd.DataFrame, settings: ToyTables) -> pd.DataFrame:
    """The distances of the problem that its tables show."""
    cell = _at_cell(frame, settings)
    return cell[cell.noise == settings.cell.noise]


def _at_cell(frame: pd.DataFrame, settings: ToyTables) -> pd.DataFrame:
    cell = settings.cell
    return frame[(frame.problem == settings.problem) & (frame.m == cell.dim) & (frame.n == cell.n_obs)]


def _note(settings: ToyTables, tidy: pd.DataFrame, paper_metric: str, hardware: str) -> str:
    cell = settings.cell
    return (
        f"Problem {settings.problem}, m = {cell.dim}, n = {cell.n_obs}, noise {cell.noise}, "
        f"{settings.samples} samples. Distances: mean ± std over {int(tidy.seeds.max())} seeds, raw (the "
        f"reference's self-distance not subtracted); 'lost': at least one seed is ({LOST_MEANING}). "
        f"Time: median ± std over {settings.repeats} rounds, {settings.timing_samples} samples, on {hardware}; GAUSS "
        "with its covariances, of as many draws as there are samples (the paper's ratio); the paper's times are those "
        "of a GPU with 1000 samples. "
        f"The paper's distance is printed as sW and was computed as the max-sliced one; it stands beside our "
        f"{LABELS[paper_metric]}. Its ± is 1.96 standard errors."
    )
