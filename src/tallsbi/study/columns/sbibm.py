"""Tables of the sbibm part. `set` is the number of a parameter set, counted from 0."""

from tallsbi.study.columns.tidy import FLAG, NUMBER, TEXT, WHOLE, TidyTable

_RUN = {
    "task": TEXT,
    "n_train": WHOLE,
    "n": WHOLE,
    "set": WHOLE,
    "method": TEXT,
    "steps": WHOLE,
    "samples": WHOLE,
}

DISTANCES = TidyTable(
    "sbibm/distances",
    {
        **_RUN,
        "sw": NUMBER,
        "mmd": NUMBER,
        "c2st": NUMBER,
        "finite_share": NUMBER,
        "lost_definiteness": WHOLE,
        "lost_definiteness_time": NUMBER,
        "nonfinite": WHOLE,
        "nonfinite_time": NUMBER,
        "reference_passed": FLAG,
    },
)
OTHER_BOUNDS = TidyTable("sbibm/other_bounds", DISTANCES.kinds)
GUIDANCE = TidyTable("sbibm/guidance", DISTANCES.kinds)
PARTIAL = TidyTable("sbibm/partial", {**DISTANCES.kinds, "n_max": WHOLE, "encoder": TEXT})
LOSS_CURVE = {"epoch": WHOLE, "train_loss": NUMBER, "val_loss": NUMBER, "stop_epoch": WHOLE}
"""The columns of one training, in both parts that train."""
LOSSES = TidyTable(
    "sbibm/losses",
    {
        **LOSS_CURVE,
        "task": TEXT,
        "n_train": WHOLE,
        "learning_rate": NUMBER,
        "batch_size": WHOLE,
        "chosen": FLAG,
    },
)
PAIRS = TidyTable(
    "sbibm/pairs",
    {
        "sample": WHOLE,
        "parameter": TEXT,
        "value": NUMBER,
        "task": TEXT,
        "n": WHOLE,
        "source": TEXT,
        "set": WHOLE,
    },
)
TRUTH = TidyTable("sbibm/truth", {"parameter": TEXT, "value": NUMBER, "task": TEXT})
CERTIFICATES = TidyTable(
    "sbibm/certificates",
    {
        "task": TEXT,
        "set": WHOLE,
        "n": WHOLE,
        "method": TEXT,
        "passed": FLAG,
        "checks": TEXT,
        "failed": TEXT,
        "rhat": NUMBER,
        "ess_bulk": NUMBER,
        "ess_tail": NUMBER,
        "ess_kept": NUMBER,
        "divergences": WHOLE,
        "divergent_share": NUMBER,
        "acceptance": NUMBER,
        "chains": WHOLE,
        "iterations": WHOLE,
        "attempts": WHOLE,
        "cells": NUMBER,
        "cells_per_sd": NUMBER,
        "border": NUMBER,
        "disagreement": NUMBER,
        "missed": NUMBER,
    },
)
STEPS = TidyTable(
    "sbibm/steps",
    {
        **_RUN,
        "sw": NUMBER,
        "sw_self": NUMBER,
        "seconds": NUMBER,
        "score_evaluations": WHOLE,
        "finite_share": NUMBER,
        "reference_passed": FLAG,
    },
)
MANY = TidyTable(
    "sbibm/many",
    {
        **_RUN,
        "spread": NUMBER,
        "error": NUMBER,
        "error_self": NUMBER,
        "seconds": NUMBER,
        "memory": NUMBER,
        "finite_share": NUMBER,
        "reference_passed": FLAG,
    },
)
TABLES = (DISTANCES, OTHER_BOUNDS, GUIDANCE, PARTIAL, LOSSES, PAIRS, TRUTH, CERTIFICATES, STEPS, MANY)
