"""The paper: its tasks, references, stages, claims, tables, figures and report."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def results(run: str = "published") -> dict[str, pd.DataFrame]:
    """The tidy tables of a run of this checkout, by name: `results()["sbibm/distances"]`, `results()["tables/claims"]`.

    `published` is the run behind `docs/gallery`; others are named as their folders in `results/`.
    """
    # By name: an import would make the report a part of the code that every job of the study depends on.
    return importlib.import_module("tallsbi.study.report.published").read_results(run)
