"""What the number of a test is, in words that stand beside it in the ledger."""

from __future__ import annotations

from collections.abc import Sequence

from tallsbi.study.claims.select import describe
from tallsbi.study.claims.spec import SingleTest

# The values that tests name; those of the view `theory` by their column `quantity`.
NAMES = {
    "sw": "sW",
    "mmd": "MMD²",
    "c2st": "C2ST",
    "error": "sliced distance",
    "error_norm": "sliced distance less the reference's own",
    "error_relative": "sliced distance over the reference's own",
    "seconds": "time",
    "speedup": "speed over LANGEVIN's",
    "p_value": "p-value",
    "deviation": "spread",
    "distance2": "squared distance to the truth (prior variances)",
    "offset": "offset (posterior standard deviations)",
    "best_epoch": "epoch of the lowest loss",
    "jumps": "relative jumps of the loss",
    "epoch_ratio": "ratio of epochs of the lowest loss",
    "loss_ratio": "ratio of lowest losses",
    "score_error": "relative error of the score",
    "law_error": "relative distance of the law",
    "covariance_effect": "distance over that with 1000 draws",
    "evaluations": "evaluations per step",
    "jacobian_entries": "entries of the Jacobian over m²",
    "modes": "modes",
    "spread": "standard deviation over the right one",
}


def quantity(test: SingleTest, sides: Sequence[str] = ()) -> str:
    """For example `time, GAUSS over JAC`, `power of n in sW`, `C2ST`, `share of (set) with lost = True`.

    `sides`: the names of the two that are compared.
    """
    if test.kind in ("share", "shares"):
        share = f"share of ({' x '.join(test.unit)}) with {describe(test.condition)}"
        return ", ".join(filter(None, [share, " less ".join(sides)]))
    key = str(test.where.get("quantity", test.value))
    name = NAMES.get(key, key.replace("_", " "))
    relation = " over " if test.logarithmic else " less "
    number = ", ".join(filter(None, [name, relation.join(sides)]))
    if test.kind == "trend":
        return (
            f"power of {test.x} in {number}"
            if test.logarithmic
            else f"change of {number} per 2.7-fold {test.x}"
        )
    return number
