"""The claims ledger: every claim of the paper with the verdict of this run, table claims.

The CSV has all columns and a row per variant; the readable version leaves out the test in words and the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd

from tallsbi.study.analysis import exclusion
from tallsbi.study.claims.intervals import MIN_UNITS
from tallsbi.study.claims.ledger import ledger
from tallsbi.study.claims.spec import read
from tallsbi.study.claims.verdicts import ALPHA, Verdict
from tallsbi.study.claims.views import RunFacts, views
from tallsbi.study.columns.sbibm import DISTANCES
from tallsbi.study.settings.artifacts import ClaimsTable
from tallsbi.study.tables.render import Table

# Shares of the line width of the LaTeX version.
WIDTHS = (0.04, 0.24, 0.08, 0.14, 0.12, 0.05, 0.08, 0.25)


def make(
    data: Mapping[str, pd.DataFrame],
    settings: ClaimsTable,
    not_made: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """`data`: the tidy files of the run by the names in `claims.views`, and the ledger of the `other` run, if any;
    `not_made`: the paths of those that the run lacks so far."""
    factor, exclude = settings.fidelity["uniform_bounds_factor"], settings.fidelity["exclude_sets"]
    distances = data["sbibm_distances"] if "sbibm_distances" in data else DISTANCES.frame([])
    facts = RunFacts(
        toy_metric=settings.toy_metric,
        kept={
            task: exclusion.published(distances, task, exclude == "listed").kept
            for task in distances.task.unique()
        },
        uniform_bounds="true" if factor == 1 else "widened",
        uniform_tasks=settings.uniform_tasks,
        theta=settings.theta,
        bounds=settings.bounds,
    )
    switches = {
        **settings.fidelity,
        "uniform_bounds": facts.uniform_bounds,
        "exclude_sets": bool(exclude),
    }
    tidy = ledger(read(settings.claims), views(data, facts, not_made), switches)
    quantity = (" (" + tidy.quantity + ")").where(tidy.quantity != "", "")
    shown = pd.DataFrame(
        {
            "id": tidy.id,
            "claim": tidy.claim,
            "variant": tidy.variant.where(
                ~tidy.headline | (tidy.variant == ""), tidy.variant + " (headline)"
            ),
            "printed": tidy.printed,
            "measured": tidy.measured + quantity + " " + tidy.uncertainty,
            "count": tidy["count"],
            "verdict": tidy.verdict,
            "reading": tidy.reading,
        }
    )
    if "other" in data:
        other = data["other"][data["other"].headline].set_index("id").verdict
        tidy["other_run"] = settings.other_run
        tidy["other_verdict"] = tidy.id.map(other)
        shown[f"verdict of {settings.other_run}"] = tidy.other_verdict
    repeated = tidy.id.duplicated()
    shown[["claim", "printed"]] = shown[["claim", "printed"]].mask(repeated, "")
    return Table(tidy, shown, _note(tidy), (*WIDTHS, *([0.08] if "other" in data else [])))


def _note(tidy: pd.DataFrame) -> str:
    headline = tidy[tidy.headline]
    counts = ", ".join(f"{int((headline.verdict == verdict).sum())} {verdict.value}" for verdict in Verdict)
    verdicts = tidy.groupby("id").verdict.nunique()
    decided_by_switch = ", ".join(verdicts.index[verdicts > 1]) or "none"
    return (
        f"{len(headline)} claims: {counts} (headline variants). A claim holds where the whole confidence interval "
        f"({100 * (1 - ALPHA):g} %, two-sided, paired over sets, seeds, rounds or draws, corrected for the number of "
        "comparisons where one of them is enough) is in the range the claim expects, and does not hold where all of "
        f"it is outside. Fewer than {MIN_UNITS} units decide nothing. Measured: the comparison that decides, a ratio, "
        "difference, slope, share or value as the test says. Claims on which a fidelity switch decides: "
        f"{decided_by_switch}. The CSV has the tests and the data behind them."
    )
