"""The hardware behind measured times, as the tables of times record it."""

import pandas as pd


def timed_on(frame: pd.DataFrame) -> str:
    """What the rows of a table of times were measured on, in one phrase."""
    return " and ".join(sorted(frame["hardware"].unique())) or "hardware unknown"
