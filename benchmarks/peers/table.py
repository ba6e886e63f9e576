"""The rows of a ledger as the tables of docs/peers.md."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
_NUMBERS = ("offset", "spread", "expected_z", "coverage")
_HEAD = ("method", "n", "offset", "spread", "Ez", "coverage", "train, CPU s", "draw, CPU s", "remarks")


def tables(rows: pd.DataFrame) -> str:
    """One table per problem, methods in the order in which they were first measured."""
    return "\n\n".join(f"{name}:\n\n{_table(part)}" for name, part in rows.groupby("problem", sort=False))


def put_into(page: Path, rows: pd.DataFrame) -> None:
    """Between the two marks of the page, in place of the tables there."""
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{page}: the marks {BEGIN} and {END} must be there once each.")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{tables(rows)}\n\n{END}{after}")


def _table(rows: pd.DataFrame) -> str:
    order = {name: place for place, name in enumerate(dict.fromkeys(rows.method))}
    rows = rows.assign(order=rows.method.map(order)).sort_values(["order", "n"], kind="stable")
    lines = ["| " + " | ".join(_HEAD) + " |", "|---" * len(_HEAD) + "|"]
    for row in rows.to_dict("records"):
        numbers = [_number(row[name]) for name in _NUMBERS]
        seconds = [f"{row['train_seconds']:.0f}", f"{row['sample_seconds']:.2g}"]
        seconds = seconds if row["sample_seconds"] else ["", ""]
        cells = [row["method"], str(row["n"]), *numbers, *seconds, _remarks(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _number(value: float) -> str:
    if pd.isna(value):
        return "-"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"


def _remarks(row: dict) -> str:
    remarks = [f"{row['strays']:.0%} of draws lost"] if row["strays"] > 0 else []
    return "; ".join([*remarks, row["note"]] if row["note"] else remarks)
