"""Tables of the toy part. A row belongs to a problem of dimension m with n observations."""

from tallsbi.study.columns.tidy import table

DISTANCES = table(
    "toy/distances",
    "problem:text m:int noise n:int seed:int method:text steps:int samples:int "
    "sw sw_self sw_norm max_sw max_sw_self max_sw_norm "
    "lost_share lost_definiteness:int lost_definiteness_time nonfinite:int nonfinite_time "
    "reference_passed:bool score_evaluations:int",
)
STEPS = DISTANCES.renamed("toy/steps")
TIMING = table(
    "toy/timing",
    "problem:text m:int n:int steps:int method:text samples:int hardware:text round:int seconds",
)
PEDAGOGICAL = table("toy/pedagogical", "n:int source:text sample:int theta_1 theta_2")
TABLES = (DISTANCES, STEPS, TIMING, PEDAGOGICAL)
