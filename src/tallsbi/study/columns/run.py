"""Tables of the run as a whole."""

from tallsbi.study.columns.tidy import NUMBER, TEXT, WHOLE, TidyTable

THEORY = TidyTable(
    "claims/theory",
    {
        "quantity": TEXT,
        "case": TEXT,
        "method": TEXT,
        "m": WHOLE,
        "n": WHOLE,
        "steps": WHOLE,
        "seed": WHOLE,
        "value": NUMBER,
    },
)
COSTS = TidyTable(
    "costs",
    {
        "stage": TEXT,
        "jobs": WHOLE,
        "core_hours": NUMBER,
        "share": NUMBER,
        "longest_h": NUMBER,
        "peak_mib": NUMBER,
        "run": TEXT,
    },
)
TABLES = (THEORY, COSTS)
