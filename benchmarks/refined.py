"""`python -m benchmarks.refined FOLDER`: offset and spread of refined posteriors against exact ones.

Five problems (`--problem`: others), ten datasets each with parameters of the prior, n = 100. The posterior is that of
`TallPosterior.fit` as documented, with 20,000 simulations; 20,000 more refine it. Every refinement is a line of
FOLDER/refined.csv as soon as it is done, and a run that was interrupted goes on from there.
`--set refine._WIDTH=4` tries another constant of a module of `tallsbi.api`; give that a folder of its own.
"""

from __future__ import annotations

import argparse
import importlib
import math
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks.problems import FIVE, MAKERS, TallProblem, problem
from tallsbi import TallPosterior
from tallsbi.random import integer_seed

N_OBS, SIMULATIONS = 100, 20_000
FEWEST_EFFECTIVE = 1000


def fitted(task: TallProblem, folder: Path) -> TallPosterior:
    if not (folder / task.name).is_dir():
        TallPosterior.fit(
            task.prior, task.simulator(), simulations=SIMULATIONS, log_x=task.log_x, progress=False,
        ).save(folder / task.name)  # fmt: skip
    return TallPosterior.load(folder / task.name)


def measured(task: TallProblem, posterior: TallPosterior, datasets: int, number: int) -> dict[str, Any]:
    """One dataset: offset (mean and largest over coordinates) and spread, before and after."""
    truth, x = (values[number] for values in task.datasets(datasets, N_OBS))
    reference = task.exact(truth, x)
    if reference.effective < FEWEST_EFFECTIVE:
        warnings.warn(f"exact posterior: {reference.effective:.0f} effective draws", stacklevel=2)
    mean, deviation = (torch.from_numpy(values) for values in (reference.mean, reference.deviation))
    started = time.process_time()
    simulator = task.simulator(integer_seed(number, task.name))
    refined = posterior.refine(x, simulator, SIMULATIONS, seed=number)
    seconds = time.process_time() - started
    draws = {"before": posterior.sample(x, 1000, progress=False), "after": refined.sample(4000)}
    report = refined.report
    row = {
        "problem": task.name, "dataset": number, "outcome": report.outcome, "simulations": report.simulations,
        "widening": report.widening, "z_after": report.z_after, "seconds": seconds,
        "exact_ess": reference.effective,
    }  # fmt: skip
    for state, theta in draws.items():
        latent = task.prior.to_latent(theta).double()
        offset = (latent.mean(0) - mean).abs() / deviation
        spread = (latent.std(0) / deviation).log().mean().exp()
        row |= {
            f"offset_{state}": float(offset.mean()),
            f"largest_{state}": float(offset.max()),
            f"spread_{state}": float(spread),
        }
    return row


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Medians over datasets, and how refinements ended."""
    columns = [f"{name}_{state}" for name in ("offset", "spread") for state in ("before", "after")]
    table = frame.groupby("problem", sort=False)[[*columns, "seconds"]].median()
    table["largest_offset"] = frame.groupby("problem").offset_after.max()
    ended = frame.groupby(["problem", "outcome"]).size().unstack(fill_value=0)
    return table.join(ended).assign(datasets=frame.groupby("problem").size())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--problem", nargs="*", choices=MAKERS, default=list(FIVE))
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--networks", type=Path, help="the folder of trained networks (default: FOLDER)")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="MODULE.NAME=VALUE", help="constants of tallsbi.api"
    )
    options = parser.parse_args()
    for change in options.set:
        name, value = change.split("=")
        module, constant = name.split(".")
        setattr(importlib.import_module(f"tallsbi.api.{module}"), constant, eval(value, {"math": math}))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    options.folder.mkdir(parents=True, exist_ok=True)
    path, tasks = options.folder / "refined.csv", [problem(name) for name in options.problem]
    rows = pd.read_csv(path).to_dict("records") if path.is_file() else []
    for number in range(options.datasets):
        for task in tasks:
            if any((row["problem"], row["dataset"]) == (task.name, number) for row in rows):
                continue
            posterior = fitted(task, options.networks or options.folder)
            rows.append(measured(task, posterior, options.datasets, number))
            pd.DataFrame(rows).to_csv(path, index=False)
            print(
                {key: round(v, 3) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True
            )
    print(summary(pd.DataFrame(rows)).round(2).to_string())


if __name__ == "__main__":
    main()
