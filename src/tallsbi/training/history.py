"""How a training went: the losses of every epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

History = dict[str, list[float]]


def table(history: History) -> pd.DataFrame:
    """Losses by epoch. pandas is loaded here: who only trains and draws does without it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "`losses` is a table of pandas, which is not installed: pip install pandas; `history` has the numbers."
        ) from error

    rows = max(map(len, history.values()))
    return pd.DataFrame({"epoch": range(1, rows + 1), **history})
