"""The study: every table and figure of the paper, from nothing. See README.md and docs/config.md."""

import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
# The jobs import the package of this checkout, whatever else is installed.
sys.path.insert(0, str(ROOT / "src"))
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])))

from tallsbi.runner.config import check_file_or_exit

check_file_or_exit(ROOT)


configfile: ROOT / "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/reference.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/sample.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/artifacts.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        outputs_of(ARTIFACTS.of()),
        REPORT,


# What can be drawn from the tidy data that is there; `make redraw` forces it and allows no other rule.
rule redraw:
    input:
        outputs_of(DRAWABLE),
        [REPORT] if DRAWABLE == ARTIFACTS.of() else [],


# The reference posteriors as files of their own, for use elsewhere.
rule posteriors:
    input:
        expand(f"{RESULTS}/posteriors/{{task}}.nc", task=STUDY.sbibm.paper_tasks),


# The parts of the study.
rule toy:
    input:
        outputs_of(ARTIFACTS.of(target="toy")),


rule sbibm:
    input:
        outputs_of(ARTIFACTS.of(target="sbibm")),


rule jrnmm:
    input:
        outputs_of(ARTIFACTS.of(target="jrnmm")),
