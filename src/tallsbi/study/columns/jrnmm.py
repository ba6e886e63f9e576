"""Tables of the jrnmm part. `dim`: the number of parameters, 3 or 4; `n` counts observations."""

from tallsbi.study.columns import sbibm
from tallsbi.study.columns.tidy import table

LOSSES = sbibm.LOSSES.renamed("jrnmm/losses")
DIRAC = table(
    "jrnmm/dirac",
    "dim:int method:text steps:int n:int samples:int lost_share parameter:text published mmd",
)
DRAWS = table("jrnmm/draws", "dim:int kind:text n:int observation:int draw:int parameter:text value")
LC2ST = table(
    "jrnmm/lc2st",
    "dim:int method:text n:int calibration:int lost_share permutations:int classifier:int "
    "statistic p_value null_mean null_q95",
)
TABLES = (LOSSES, DIRAC, DRAWS, LC2ST)
