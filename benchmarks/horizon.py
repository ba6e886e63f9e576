"""`python -m benchmarks.horizon FOLDER`: how right the horizon is, on datasets that it has not seen.

The posterior is that of `TallPosterior.fit` as documented, with 20,000 simulations; networks lie in FOLDER, where
`python -m benchmarks.refined FOLDER` keeps them too. The horizon is that of `posterior.horizon` with its defaults; the
same rule on 600 other datasets stands for the truth. Every line is written to FOLDER/horizon.csv as soon as it is done,
and a run that was interrupted goes on from there.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks.problems import MAKERS, problem
from benchmarks.refined import fitted
from tallsbi import TallPosterior
from tallsbi.random import integer_seed

PROBLEMS = ("gaussian", "counts", "pharmacokinetic", "sir", "lotka_volterra", "bernoulli_glm")
METHODS = ("AUTO", "GAUSS_PD")
TRUTH_DATASETS = 600


def measured(name: str, posterior: TallPosterior, method: str, n_max: int) -> dict[str, Any]:
    task, row = problem(name), {"problem": name, "method": method, "n_max": n_max}
    for kind, options in (("horizon", {}), ("truth", {"datasets": TRUTH_DATASETS})):
        seed = integer_seed(0, "benchmarks", "horizon", name, kind)
        started = time.process_time()
        result = posterior.horizon(
            task.simulator(seed), method, n_max=n_max, seed=seed, progress=False, **options
        )
        row |= {kind: result.n, f"{kind}_answer": result.answer, f"{kind}_s": time.process_time() - started}
    both = sorted((row["horizon"], row["truth"]))
    return row | {"within": both[1] <= 2 * max(1, both[0])}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--problem", nargs="*", choices=MAKERS, default=list(PROBLEMS))
    parser.add_argument("--method", nargs="*", default=list(METHODS))
    parser.add_argument("--n-max", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "horizon.csv"
    rows = pd.read_csv(path).to_dict("records") if path.is_file() else []
    for name in options.problem:
        for method in options.method:
            if any((row["problem"], row["method"]) == (name, method) for row in rows):
                continue
            rows.append(measured(name, fitted(problem(name), options.folder), method, options.n_max))
            pd.DataFrame(rows).to_csv(path, index=False)
            print(rows[-1], flush=True)
    print(pd.DataFrame(rows)[["problem", "method", "horizon", "truth", "within"]].to_string(index=False))


if __name__ == "__main__":
    main()
