"""The study: every table and figure of the paper, from nothing. See README.md and docs/config.md."""

import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
# The jobs import the package of this checkout, whatever else is installed.
sys.path.insert(0, str(ROOT / "src"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))


configfile: ROOT / "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/toy.smk"
include: "workflow/rules/artifacts.smk"


rule all:
    default_target: True
    input:
        tables=table_paths(),
        figures=figure_paths(),


rule tables:
    input:
        table_paths(),


rule figures:
    input:
        figure_paths(),
