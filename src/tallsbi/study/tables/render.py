"""A table as CSV, Markdown and LaTeX.

The CSV is tidy and complete. Markdown and LaTeX are for reading: mean and spread in one cell, numbers rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

# The distances of the sbibm part, as a reader sees them.
METRICS = {"sw": "sW", "mmd": "MMD²", "c2st": "C2ST"}
_LATEX_ESCAPES = str.maketrans(
    {char: "\\" + char for char in "&%_#"} | {"±": r"$\pm$", "–": "--", "^": r"\^{}", "<": "$<$", ">": "$>$"}
)


@dataclass(frozen=True)
class Table:
    """`tidy` is the data, `shown` the same for a reader, `note` what one must know to read it.

    `widths`: for columns of text, their shares of the line in LaTeX; such a table may be longer than a page.
    """

    tidy: pd.DataFrame
    shown: pd.DataFrame
    note: str
    widths: tuple[float, ...] = ()


def spread(mean: float, std: float, digits: int = 2) -> str:
    """`0.17 ± 0.08`; `lost` where there is no number."""
    if pd.isna(mean):
        return "lost"
    return f"{number(mean, digits)} ± {number(std, digits)}" if pd.notna(std) else number(mean, digits)


def number(value: float, digits: int = 2) -> str:
    """Fixed digits for ordinary sizes, an exponent for the rest."""
    if pd.isna(value):
        return "–"
    if value != 0 and (abs(value) >= 1000 or abs(value) < 0.5 * 10.0**-digits):
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def printed(mean: float, std: float, known: bool, digits: int = 2) -> str:
    """A number of the paper: `nan` where the paper prints nan, a dash where it prints nothing."""
    if not known:
        return "–"
    return "nan" if pd.isna(mean) else spread(mean, std, digits)


def to_markdown(table: Table, title: str) -> str:
    columns = list(table.shown.columns)
    alignment = ["left"] * len(columns) if table.widths else _alignment(columns)
    shown = table.shown.map(lambda cell: cell.replace("|", "\\|") if isinstance(cell, str) else cell)
    body = shown.to_markdown(index=False, disable_numparse=True, colalign=alignment)
    return f"# {title}\n\n{body}\n\n{table.note}\n"


def to_latex(table: Table, title: str) -> str:
    header = " & ".join(_escape(str(column)) for column in table.shown.columns)
    rows = [" & ".join(_escape(str(value)) for value in row) for row in table.shown.itertuples(index=False)]
    body = " \\\\\n".join(rows)
    if table.widths:
        columns = "".join(f"p{{{width:g}\\linewidth}}" for width in table.widths)
        return (
            "% needs \\usepackage{longtable}\n"
            f"\\begin{{longtable}}{{{columns}}}\n\\caption{{{_escape(title)}. {_escape(table.note)}}}\\\\\n"
            f"\\hline\n{header} \\\\\n\\hline\n\\endhead\n{body} \\\\\n\\hline\n\\end{{longtable}}\n"
        )
    columns = "l" + "r" * (table.shown.shape[1] - 1)
    return (
        "\\begin{table}\n\\centering\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\hline\n{header} \\\\\n\\hline\n{body} \\\\\n\\hline\n\\end{{tabular}}\n"
        f"\\caption{{{_escape(title)}. {_escape(table.note)}}}\n\\end{{table}}\n"
    )


def _alignment(columns: Sequence[str]) -> list[str]:
    return ["left", *["right"] * (len(columns) - 1)]


def _escape(text: str) -> str:
    return text.translate(_LATEX_ESCAPES)


def mean_std(values: pd.Series) -> tuple[float, float]:
    """Mean and standard deviation over the values, NaN as soon as one of them is: none is dropped."""
    array = values.to_numpy(float)
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else np.nan
