"""The batched C2ST against sbibm's, per comparison of two samples of 1000 in five dimensions."""

from __future__ import annotations

from benchmarks.report import Row


def run(rounds: int) -> list[Row]:
    from benchmarks.c2st import entries

    return [
        Row(
            name=str(entry["name"]),
            ours=float(entry["ours"]),
            reference=float(entry["reference"]),
            unit="s",
            ratio=float(entry["ratio"]),
            bar=float(entry["bar"]),
            at_most=False,
        )
        for entry in entries()
    ]
