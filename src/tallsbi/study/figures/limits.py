"""What a run is too small to show: a figure says so inside the picture."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import style

# By column of the data: the least value with which a figure shows its subject, and the name of the values. The same as
# the tests behind the ledger need.
MIN_VALUES = {
    "samples": (500, "draws per posterior"),
    "steps": (400, "time steps"),
    "calibration": (1000, "calibration pairs"),
    "permutations": (50, "permutations"),
}
LINE_HEIGHT = 0.2  # inches
_COLOR = "#A3341F"


def shortfall(frame: pd.DataFrame, *columns: str) -> str:
    """A sentence on what the largest runs of the frame have too little of; empty if they have enough."""
    largest = {column: int(frame[column].max()) for column in columns}
    lacking = [
        f"{count} {name} ({least} are needed)"
        for column, count in largest.items()
        for least, name in [MIN_VALUES[column]]
        if count < least
    ]
    return f"too small a run for this figure: {', '.join(lacking)}" if lacking else ""


def unequal(frame: pd.DataFrame) -> str:
    """A sentence on methods that do not evaluate the score equally often; empty if they do."""
    counts = frame.groupby("method", sort=False).score_evaluations.max()
    if counts.nunique() < 2:
        return ""
    return "unequal evaluations of the score: " + ", ".join(
        f"{name} {count}" for name, count in counts.items()
    )


def warn(figure: Figure, *sentences: str) -> float:
    """Writes the sentences above the panels; returns the inches that they need."""
    lines = [sentence for sentence in sentences if sentence]
    if lines:
        figure.suptitle("\n".join(lines), color=_COLOR, fontsize=style.RC["legend.fontsize"])
    return LINE_HEIGHT * len(lines)
