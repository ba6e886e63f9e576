"""The origin of a job's outputs, kept beside them: everything that decides whether the job must run again.

Snakemake keeps this in `.snakemake/`, which stays behind when results are copied. So every job writes it to
`results/<run>/records/<output>.origin.json` as well: its rule and params as Snakemake compares them, and the
checksums of what it read and wrote. `tallsbi.runner.recall` reads these files before Snakemake decides.

Paths below `results/<run>/` are kept without the name of the run, so that the folder can be renamed too.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tallsbi.storage import files
from tallsbi.storage.plain import from_json

FOLDER, SUFFIX = "records", ".origin.json"
RUN_PLACEHOLDER = "{run}/"  # stands for results/<run>/


@dataclass(frozen=True)
class Origin:
    """What one job made, and from what."""

    rule: str
    params: tuple[str, ...]  # each as Python writes it, sorted
    inputs: tuple[str, ...]  # sorted; a file that the rule names twice is there twice
    outputs: tuple[str, ...]
    checksums: Mapping[str, str]  # of inputs, outputs and the records beside outputs
    log: tuple[str, ...] = ()


def checksum(path: str | Path) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def run_folder(output: str | Path) -> Path | None:
    """`results/<run>` if the output lies there."""
    parts = Path(output).parts
    return Path(*parts[:2]) if len(parts) > 2 and parts[0] == "results" else None


def origin_path(output: str | Path, folder: Path) -> Path:
    return folder / FOLDER / f"{Path(output).relative_to(folder)}{SUFFIX}"


def written_files(outputs: Iterable[str]) -> Iterator[str]:
    """The outputs and the records beside them."""
    for output in outputs:
        yield output
        if (sidecar := files.sidecar_path(output)).is_file():
            yield str(sidecar)


def write_origin(origin: Origin, folder: Path, root: Path = Path()) -> None:
    """Writes the origin of outputs below `folder`, that is `results/<run>`, and removes older origins of theirs."""
    content = _replaced(asdict(origin), f"{folder.as_posix()}/", RUN_PLACEHOLDER)
    first, *others = (root / origin_path(output, folder) for output in sorted(origin.outputs))
    for other in others:
        other.unlink(missing_ok=True)
    files.write_json(content, first)


def read_origins(folder: Path, root: Path = Path()) -> list[Origin]:
    """All origins below `folder`; one that cannot be read is left out."""
    origins = []
    for path in sorted((root / folder / FOLDER).rglob(f"*{SUFFIX}")):
        with contextlib.suppress(OSError, TypeError, ValueError, AttributeError):
            content = _replaced(files.read_json(path), RUN_PLACEHOLDER, f"{folder.as_posix()}/")
            origins.append(from_json(Origin, content, str(path)))
    return [origin for origin in origins if origin.outputs]


def _replaced(value: Any, old: str, new: str) -> Any:
    """A JSON value with `old` replaced by `new` in all its texts."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {_replaced(key, old, new): _replaced(item, old, new) for key, item in value.items()}
    return [_replaced(item, old, new) for item in value]


def describe(
    rule: str, *, params: Iterable[str], inputs: Iterable[str], outputs: Iterable[str], log: Iterable[str]
) -> Origin:
    """The origin of outputs that exist now."""
    inputs, outputs = tuple(sorted(inputs)), tuple(outputs)
    checksums = {path: checksum(path) for path in [*inputs, *written_files(outputs)] if os.path.isfile(path)}
    return Origin(rule, tuple(sorted(params)), inputs, outputs, checksums, tuple(sorted(log)))


def write_at_exit(snakemake: Any) -> None:
    """Writes the origin when this process ends, if all outputs exist by then."""
    outputs = [str(path) for path in snakemake.output] if isinstance(snakemake.output, list | tuple) else []
    folder = run_folder(outputs[0]) if outputs else None
    if folder is not None:
        atexit.register(_write_if_complete, snakemake, outputs, folder, Path.cwd())


def _write_if_complete(snakemake: Any, outputs: list[str], folder: Path, root: Path) -> None:
    os.chdir(root)
    if not all(map(os.path.isfile, outputs)):
        return  # the job has failed
    write_origin(
        describe(
            str(snakemake.rule),
            params=map(repr, snakemake.params),
            inputs=map(str, snakemake.input),
            outputs=outputs,
            log=map(str, snakemake.log),
        ),
        folder,
    )
