"""Tables of the sbibm part. `set` is the number of a parameter set, counted from 0."""

from tallsbi.study.columns.tidy import table

_RUN = "task:text n_train:int n:int set:int method:text steps:int samples:int "

DISTANCES = table(
    "sbibm/distances",
    _RUN
    + "sw mmd c2st finite_share lost_definiteness:int lost_definiteness_time nonfinite:int nonfinite_time "
    "reference_passed:bool",
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
    "divergences:int divergent_share acceptance chains:int iterations:int attempts:int "
    "cells cells_per_sd border disagreement missed",
)
STEPS = table(
    "sbibm/steps", _RUN + "sw sw_self seconds score_evaluations:int finite_share reference_passed:bool"
)
MANY = table("sbibm/many", _RUN + "spread error error_self seconds memory finite_share reference_passed:bool")
TABLES = (DISTANCES, OTHER_BOUNDS, GUIDANCE, PARTIAL, LOSSES, PAIRS, TRUTH, CERTIFICATES, STEPS, MANY)
