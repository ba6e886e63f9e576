"""What the runner must be told about this study: its stages, and the results that hold times."""

from pathlib import Path

from tallsbi.runner.command import Project
from tallsbi.study.artifacts import timed_outputs

# Every figure and every table has a rule of its own, which says little in a table of costs.
STAGES = {"draw_": "draw figures", "make_": "make tables", "collect_": "collect"}

# Files below results/<run>/ that hold measured seconds or bytes; workflow/artifacts.yaml says which tables and figures
# do. The records beside the tables (*.meta.json) hold a checksum of such a table.
TIMED = (
    "toy/timing/*/*",
    "toy/timing.*",
    "sbibm/*/steps.*",
    "sbibm/steps.*",
    "sbibm/*/many.*",
    "sbibm/many.*",
    "costs.*",
    "report/*",
)


def project(root: Path) -> Project:
    """The study in a repository."""
    return Project(stages=STAGES, timed=(*TIMED, *timed_outputs(root)))
