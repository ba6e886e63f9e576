"""The commands behind `make`, for a study that says what it is (`Project`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tallsbi.runner import efficiency, guard, launch, manifest, plan, redraw, where
from tallsbi.runner.options import chosen_run, settings_parser
from tallsbi.storage.files import DataError

COMMANDS = {
    "run": "start Snakemake, or say why it cannot start",
    "redraw": "draw tables, figures and page again from the tidy data that is there",
    "where": "print where the tables, figures and reports of a run are",
    "directory": "print the directory of a run, whether or not it exists",
    "verify": "compare results with their checksums; the first time, write these",
    "plan": "print what a run will cost",
    "efficiency": "print what the jobs of a run asked for and what they used",
    "calibrate": "fit the cost model to the records under results/",
}


@dataclass(frozen=True)
class Project:
    """What the runner needs to know about a study."""

    stages: plan.Stages
    timed: tuple[str, ...]  # patterns of the results that hold measured times, below results/<run>/
    drawing: tuple[str, ...] = ()  # starts of the names of the rules that draw from tidy data
    verdicts: Callable[[Path], str] = lambda folder: ""  # what the run has found, in a few words


def main(project: Project, arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Runs one command; returns its exit code."""
    parser = settings_parser("; ".join(f"{name}: {text}" for name, text in COMMANDS.items()))
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--args", default="", help="run, redraw: more arguments of snakemake")
    given = parser.parse_args(arguments)
    run = chosen_run(given, root or Path.cwd())
    try:
        match given.command:
            case "run":
                return launch.start(run, given.args)
            case "redraw":
                return redraw.start(run, project.drawing, given.args)
            case "verify":
                return manifest.verify(run, project.timed)
            case "calibrate":
                return plan.calibrate(run.root)
            case "plan":
                print(plan.describe(run, project.stages))
            case "efficiency":
                print(efficiency.describe(run))
            case "where":
                print("\n".join(where.describe(run, project.verdicts)))
            case "directory":
                print(run.folder)
    except (DataError, guard.GuardError, plan.PlanError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
