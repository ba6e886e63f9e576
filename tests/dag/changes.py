"""The changes of the table in docs/incremental.md, each with what it must and must not rerun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import yaml

from study import Study

SCALE = "workflow/scales/smoke.yaml"


@dataclass(frozen=True)
class Change:
    """A row: what is changed, how (a function of the copy), and what it must not touch."""

    label: str
    apply: Callable[[Study], None]
    only: str = ""  # every rerun job of the rules in `rules` has this in the path of one of its outputs
    rules: tuple[str, ...] = ()
    never: tuple[str, ...] = ()  # beginnings of rules that do not rerun
    spared: tuple[str, ...] = ()  # rules that do not rerun, by their whole name


def code(path: str) -> Callable[[Study], None]:
    def apply(study: Study) -> None:
        study.add_code(path)

    return apply


def edit(path: str, *keys: str, to: Callable) -> Callable[[Study], None]:
    """Replaces a value of a YAML file."""

    def apply(study: Study) -> None:
        file = study.root / path
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        block = data
        for key in keys[:-1]:
            block = block[key]
        block[keys[-1]] = to(block[keys[-1]])
        file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")

    return apply


def another_torch(study: Study) -> None:
    """The jobs' package folder comes first on the path: what lies there is what is installed."""
    folder = study.root / "src/torch-99.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n")


SOURCE = "src/tallsbi"
SAMPLING = ("sample_toy", "sample")
BEFORE_SAMPLING = ("simulate", "train", "select", "reference", "observe")
CHANGES = [
    Change("a comment, a docstring, the formatting", Study.add_remarks, never=("",)),
    Change("`compose/base.py`", code(f"{SOURCE}/compose/base.py"), never=BEFORE_SAMPLING),
    Change(
        "`compose/jac.py`",
        code(f"{SOURCE}/compose/jac.py"),
        only="/JAC",
        rules=(*SAMPLING, "sample_clipped"),
        never=(*BEFORE_SAMPLING, "sample_plain", "sample_partial"),
    ),
    Change(
        "`compose/gauss.py`",
        code(f"{SOURCE}/compose/gauss.py"),
        only="/GAUSS",
        rules=(*SAMPLING, "sample_plain"),
        never=BEFORE_SAMPLING,
    ),
    Change("`samplers/ddim.py`", code(f"{SOURCE}/samplers/ddim.py"), never=BEFORE_SAMPLING),
    Change(
        "`scores/network.py`",
        code(f"{SOURCE}/scores/network.py"),
        never=(
            "simulate",
            "reference",
            "observe",
            "sample_toy",
            "measure_toy",
            "time_toy",
            "collect_certificates",
        ),
    ),
    Change(
        "`training/loop.py`",
        code(f"{SOURCE}/training/loop.py"),
        never=("simulate", "reference", "observe", "sample_toy", "time_toy"),
    ),
    *(
        Change(
            f"`study/tasks/{task}.py`",
            code(f"{SOURCE}/study/tasks/{task}.py"),
            only=f"/{task}/",
            rules=("simulate", "observe", "reference", "train", "sample", "train_partial"),
            never=("sample_toy",),
        )
        for task in ("sir", "slcp")
    ),
    Change(
        "`study/tasks/jrnmm/kernel.py`",
        code(f"{SOURCE}/study/tasks/jrnmm/kernel.py"),
        only="/jrnmm/",
        rules=("simulate", "observe", "train", "select", "sample"),
        never=("sample_toy", "reference", "train_", "make_", "draw_sbibm", "draw_toy"),
    ),
    Change(
        "`study/references/nuts.py`",
        code(f"{SOURCE}/study/references/nuts.py"),
        never=("simulate", "train", "sample"),
        spared=("observe",),
    ),
    Change(
        "`metrics/c2st_kernel.py`",
        code(f"{SOURCE}/metrics/c2st_kernel.py"),
        never=("simulate", "train", "observe", "sample", "reference", "measure_toy"),
    ),
    Change(
        "`metrics/mmd.py`",
        code(f"{SOURCE}/metrics/mmd.py"),
        never=("simulate", "train", "observe", "sample", "reference", "measure_toy"),
    ),
    Change(
        "`study/figures/partial.py`",
        code(f"{SOURCE}/study/figures/partial.py"),
        only="figures/pf_npse.",
        rules=("draw_pf_npse",),
        never=("make", "sample", "train", "collect", "measure", "simulate", "observe", "reference"),
    ),
    Change(
        "`study/tables/metric_summary.py`",
        code(f"{SOURCE}/study/tables/metric_summary.py"),
        only="tables/metric_summary.",
        rules=("make_metric_summary",),
        never=("sample", "train", "collect", "measure", "simulate", "observe", "reference"),
    ),
    Change("`seed`", edit("config.yaml", "seed", to=lambda value: value + 1)),
    Change(
        "one more n in `sbibm.n_obs`",
        edit(SCALE, "sbibm", "n_obs", to=lambda values: [*values, 2]),
        only="/sbibm/",
        rules=("sample",),
        never=("simulate", "train", "observe", "sample_toy"),
    ),
    Change(
        "one more size in `sbibm.n_train`, with the simulations there are",
        edit(SCALE, "sbibm", "n_train", to=lambda values: [200, *values]),
        only="n_train~200/",
        rules=(
            "train",
            "train_guidance",
            "train_partial",
            "sample",
            "sample_plain",
            "sample_clipped",
            "measure",
        ),
        never=("simulate", "observe", "reference", "sample_toy"),
    ),
    Change(
        "`sbibm.epochs`",
        edit(SCALE, "sbibm", "epochs", to=lambda value: value + 1),
        only="/sbibm/",
        rules=("train", "sample"),
        never=("simulate", "observe", "reference", "sample_toy"),
    ),
    Change(
        "`jrnmm.epochs`",
        edit(SCALE, "jrnmm", "epochs", to=lambda value: value + 1),
        only="/jrnmm/",
        rules=("train", "sample"),
        never=("simulate", "observe", "reference", "sample_toy", "train_", "make"),
    ),
    Change(
        "one more noise level in `toy.noise`",
        edit(SCALE, "toy", "noise", to=lambda values: [*values, 0.5]),
        only="/noise~0.5/",
        rules=("sample_toy", "measure_toy"),
        never=("reference", "train", "simulate", "make"),
    ),
    Change(
        "`methods.TAMED.ratio`",
        edit("config.yaml", "methods", "TAMED", "ratio", to=lambda value: value + 0.1),
        only="/TAMED",
        rules=("sample",),
        never=("simulate", "train", "observe", "reference", "sample_toy"),
    ),
    Change(
        "`sbibm.guidance.drop`",
        edit("config.yaml", "sbibm", "guidance", "drop", to=lambda value: value + 0.1),
        only="/guidance/",
        rules=("train_guidance", "sample_plain", "measure"),
        never=("simulate", "observe", "reference", "train_partial", "make"),
        spared=("train", "select", "sample"),
    ),
    Change("another version of torch", another_torch),
]
