"""Tables of the neuroscience part. `dim`: the number of parameters, 3 or 4; `n` counts observations."""

from tallsbi.study.columns.sbibm import LOSSES as SBIBM_LOSSES
from tallsbi.study.columns.tidy import NUMBER, TEXT, WHOLE, TidyTable

LOSSES = TidyTable("jrnmm/losses", SBIBM_LOSSES.kinds)
DIRAC = TidyTable(
    "jrnmm/dirac",
    {
        "dim": WHOLE,
        "method": TEXT,
        "steps": WHOLE,
        "n": WHOLE,
        "samples": WHOLE,
        "finite_share": NUMBER,
        "parameter": TEXT,
        "published": NUMBER,
        "mmd": NUMBER,
    },
)
DRAWS = TidyTable(
    "jrnmm/draws",
    {
        "dim": WHOLE,
        "kind": TEXT,
        "n": WHOLE,
        "observation": WHOLE,
        "draw": WHOLE,
        "parameter": TEXT,
        "value": NUMBER,
    },
)
LC2ST = TidyTable(
    "jrnmm/lc2st",
    {
        "dim": WHOLE,
        "method": TEXT,
        "n": WHOLE,
        "calibration": WHOLE,
        "finite_share": NUMBER,
        "permutations": WHOLE,
        "classifier": WHOLE,
        "statistic": NUMBER,
        "p_value": NUMBER,
        "null_mean": NUMBER,
        "null_q95": NUMBER,
    },
)
TABLES = (LOSSES, DIRAC, DRAWS, LC2ST)
