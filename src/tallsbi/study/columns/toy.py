"""Tables of the toy part. A row belongs to a problem of dimension m with n observations."""

from tallsbi.study.columns.tidy import FLAG, NUMBER, TEXT, WHOLE, TidyTable

DISTANCES = TidyTable(
    "toy/distances",
    {
        "problem": TEXT,
        "m": WHOLE,
        "noise": NUMBER,
        "n": WHOLE,
        "seed": WHOLE,
        "method": TEXT,
        "steps": WHOLE,
        "samples": WHOLE,
        "sw": NUMBER,
        "sw_self": NUMBER,
        "sw_norm": NUMBER,
        "max_sw": NUMBER,
        "max_sw_self": NUMBER,
        "max_sw_norm": NUMBER,
        "finite_share": NUMBER,
        "lost_definiteness": WHOLE,
        "lost_definiteness_time": NUMBER,
        "nonfinite": WHOLE,
        "nonfinite_time": NUMBER,
        "reference_passed": FLAG,
        "score_evaluations": WHOLE,
    },
)
STEPS = TidyTable("toy/steps", DISTANCES.kinds)
TIMING = TidyTable(
    "toy/timing",
    {
        "problem": TEXT,
        "m": WHOLE,
        "n": WHOLE,
        "steps": WHOLE,
        "method": TEXT,
        "samples": WHOLE,
        "round": WHOLE,
        "seconds": NUMBER,
    },
)
PEDAGOGICAL = TidyTable(
    "toy/pedagogical", {"n": WHOLE, "source": TEXT, "sample": WHOLE, "theta_1": NUMBER, "theta_2": NUMBER}
)
TABLES = (DISTANCES, STEPS, TIMING, PEDAGOGICAL)
