"""Our reference posteriors for sbibm's observations against those it ships: `python -m tallsbi.study.references`.

Ten observations for each task the two have in common, n = 1, 1,000 draws each, compared by C2ST: 0.5 if a
classifier cannot tell them apart, at most 0.53 wanted on average.
"""

from __future__ import annotations

import argparse
import logging

import numpy as np

from tallsbi.study.references.agreement import check_against_sbibm
from tallsbi.study.settings.chains import ChainSettings

TASKS = ("slcp", "two_moons", "bernoulli_glm", "bernoulli_glm_raw", "sir", "lotka_volterra")
BAR = 0.53
SETTINGS = ChainSettings(
    chains=4, warmup=500, draws=2500, target_accept=0.9, max_rhat=1.01, min_ess=1000, retries=2
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tallsbi.study.references", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="task", help=f"default: {' '.join(TASKS)}")
    tasks = parser.parse_args().tasks or TASKS
    unknown = sorted(set(tasks) - set(TASKS))
    if unknown:
        parser.error(f"sbibm ships nothing to compare for {', '.join(unknown)}; there are {', '.join(TASKS)}")
    logging.basicConfig(format="%(message)s")
    print(f"{'task':18} {'mean C2ST':>9} {'largest':>8} {'certified':>10}")
    missed = 0
    for task in tasks:
        agreements = check_against_sbibm(task, settings=SETTINGS, progress=lambda items, **_: items)
        values = [agreement.c2st for agreement in agreements]
        missed += np.mean(values) > BAR
        certified = f"{sum(agreement.certified for agreement in agreements)} of {len(agreements)}"
        print(f"{task:18} {np.mean(values):9.3f} {max(values):8.3f} {certified:>10}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
