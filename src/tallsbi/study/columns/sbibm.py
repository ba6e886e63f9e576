"""Tables of the sbibm part. `set` is the number of a parameter set, counted from 0.

`lost_share` is the share of draws that are not finite or too far from the prior; `mmd_valid` and `c2st_valid` say
whether a bounded distance means anything (`tallsbi.metrics.validity` for both). Read bounded distances with
`tallsbi.study.analysis.validity`, which leaves out what is invalid.
"""

from tallsbi.study.columns.tidy import table

_RUN = "task:text n_train:int n:int set:int method:text steps:int samples:int "

DISTANCES = table(
    "sbibm/distances",
    _RUN
    + "sw mmd c2st mmd_valid:bool c2st_valid:bool lost_share lost_definiteness:int lost_definiteness_time "
    "nonfinite:int nonfinite_time reference_passed:bool score_evaluations:int",
)
OTHER_BOUNDS = DISTANCES.renamed("sbibm/other_bounds")
GUIDANCE = DISTANCES.renamed("sbibm/guidance")
PARTIAL = DISTANCES.renamed("sbibm/partial", "n_max:int encoder:text")
LOSSES = table(
    "sbibm/losses",
    "epoch:int train_loss val_loss stop_epoch:int task:text n_train:int learning_rate batch_size:int chosen:bool",
)
PAIRS = table("sbibm/pairs", "sample:int parameter:text value task:text n:int source:text set:int")
TRUTH = table("sbibm/truth", "parameter:text value task:text")
CERTIFICATES = table(
    "sbibm/certificates",
    "task:text set:int n:int method:text passed:bool checks:text failed:text rhat ess_bulk ess_tail ess_kept "
    "autocorrelation efmi "
    "divergences:int divergent_share acceptance chains:int iterations:int attempts:int "
    "cells cells_per_sd border disagreement missed",
)
STEPS = table(
    "sbibm/steps", _RUN + "sw sw_self seconds score_evaluations:int lost_share reference_passed:bool"
)
MANY = table("sbibm/many", _RUN + "spread error error_self seconds memory lost_share reference_passed:bool")
MEASURES = ("rms_z", "mean_z", "coverage_50", "coverage_90")
CALIBRATION = table(
    "sbibm/calibration",
    "task:text n_train:int n:int method:text steps:int samples:int parameter:text datasets:int lost:int departs:bool "
    + " ".join(f"{name} {name}_low {name}_high" for name in MEASURES)
    + " horizon:int failed_n:int failure:text",
)
REFINED = table(
    "sbibm/refined",
    _RUN
    + "state:text outcome:text simulations:int widening z_before z_after offset spread sw sw_self lost_share "
    "reference_passed:bool",
)
TABLES = (
    DISTANCES,
    OTHER_BOUNDS,
    GUIDANCE,
    PARTIAL,
    LOSSES,
    PAIRS,
    TRUTH,
    CERTIFICATES,
    STEPS,
    MANY,
    CALIBRATION,
    REFINED,
)
