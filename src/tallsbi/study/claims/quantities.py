"""What the number of a test is, in words: a reader needs them beside every number of the ledger."""

from __future__ import annotations

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


def quantity(test: SingleTest) -> str:
    """For example `ratio of times`, `power of n in sW`, `C2ST`, `share of (task x set)`."""
    units = " x ".join(test.unit)
    if test.kind in ("share", "shares"):
        return f"{'share' if test.kind == 'share' else 'difference in the share'} of ({units})"
    key = str(test.where.get("quantity", test.value))
    name = NAMES.get(key, key.replace("_", " "))
    if test.kind == "compare":
        return f"ratio, {name}" if test.logarithmic else f"difference, {name}"
    if test.kind == "trend":
        of = f"the ratio of {name}" if test.left else name
        return f"power of {test.x} in {of}" if test.logarithmic else f"change of {name} per 2.7-fold {test.x}"
    return name
