"""Recognise results that were copied, moved or damaged, before Snakemake decides what to run.

Snakemake decides by its own records (`.snakemake/metadata`) and by the times of files. Both are lost or wrong when
results are copied by `cp`, `rsync`, git or an archive. So here the origin that lies beside results
(`tallsbi.runner.origins`) decides, by checksums:

- outputs with the recorded content, made from inputs with the recorded content: Snakemake's records are written as
  they were, and outputs that look older than what they were made from get the present time;
- inputs that the same job has made again on another kind of processor count as unchanged;
- outputs with another content, or whose inputs have another content: Snakemake's record says so, and the job reruns;
- outputs without an origin and without a record of Snakemake: nobody knows where they come from, and the job reruns.

Whether code, settings and versions have changed is left to Snakemake, which compares its records as always.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.runner import guard, manifest, origins
from tallsbi.runner.alike import alike_checksums
from tallsbi.runner.origins import Origin
from tallsbi.storage import files

if TYPE_CHECKING:
    from snakemake.persistence import MetadataRecord
    from snakemake.persistence.file import FilePersistence

CHECKSUMS = Path(".snakemake/checksums.json")
MOST_NAMED = 5  # files that a message names


@dataclass
class Checksums:
    """Checksums of files; a file is read again only if the file system says that it has changed since the last time.

    The time of the last change of a file's state (ctime) is compared too, because no program can set it.
    """

    known: dict[str, list]
    used: dict[str, list] = field(default_factory=dict)

    @classmethod
    def load(cls) -> Checksums:
        with contextlib.suppress(OSError, ValueError):
            content = files.read_json(CHECKSUMS)
            if isinstance(content, dict):
                return cls(content)
        return cls({})

    def save(self) -> None:
        if self.used != self.known:
            files.write_json({**self.known, **self.used}, CHECKSUMS)

    def of(self, path: str) -> str | None:
        """The checksum, or None if there is no such file."""
        state = _state(path)
        if state is None:
            return None
        entry = self.used.get(path) or self.known.get(path)
        if not isinstance(entry, list) or entry[:-1] != state:
            entry = [*state, origins.checksum(path)]
        self.used[path] = entry
        return entry[-1]

    def touch(self, path: str, nanoseconds: int) -> bool:
        """Gives a file this time, or the present one if it belongs to another user; returns whether it could."""
        content = self.of(path)
        try:
            try:
                os.utime(path, ns=(nanoseconds, nanoseconds))
            except PermissionError:
                os.utime(path)
        except OSError:  # another user's file that only its owner can write, or a read-only file system
            return False
        self.used[path] = [*(_state(path) or []), content]
        return True


def _state(path: str) -> list[int] | None:
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _time(path: str) -> int | None:
    state = _state(path)
    return state and state[1]


@dataclass
class Findings:
    """Jobs whose records were written, files with other content, files made from other inputs, files without origin.

    `unfixable`: files that are right but look old, and whose time this user cannot change.
    """

    jobs: int = 0
    damaged: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unfixable: list[str] = field(default_factory=list)

    def notes(self, folder: Path) -> Iterator[str]:
        if self.jobs:
            yield f"{folder}: the results of {self.jobs} jobs are recognised by their checksums."
        for paths, finding in (
            (self.damaged, "other content than their jobs wrote"),
            (self.outdated, "other inputs now than they were made from"),
            (self.unknown, "no record of where they come from"),
        ):
            if paths:
                more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
                yield (
                    f"{folder}: {len(paths)} files have {finding} and are made again when they are asked for: "
                    + (", ".join(paths[:MOST_NAMED]) + more)
                )
        if self.unfixable:
            yield (
                f"{folder}: {len(self.unfixable)} files are as their jobs wrote them, but look older than what they "
                f"were made from, and only their owner can change that: Snakemake may want to make them again. A copy "
                f"of your own (cp -r {folder} ...) is recognised as it is."
            )


def recall(folder: Path) -> list[str]:
    """Prepares Snakemake's records of `results/<run>`; returns in words what it had to do. Works in this directory."""
    known = origins.read_origins(folder)
    if not known or any(head.run == folder.name and head.is_alive for head in guard.heads(Path())):
        return []
    guard.check_writable(Path(), Path(".snakemake"))
    checksums = Checksums.load()
    persistence = _persistence()
    findings = Findings()
    _compare(_in_order(known), folder, checksums, persistence, findings)
    _mark_unknown(known, folder, persistence, findings)
    checksums.save()
    return list(findings.notes(folder))


def recall_or_exit(folder: Path) -> None:
    """`recall` for the Snakefile: prints its findings, or why the run cannot start here."""
    try:
        notes = recall(folder)
    except guard.NotWritable as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    for note in notes:
        print(note, file=sys.stderr)


def _persistence() -> FilePersistence:
    from snakemake.persistence.file import FilePersistence

    return FilePersistence(nolock=True, path=Path(".snakemake").resolve())


def _in_order(known: Iterable[Origin]) -> list[Origin]:
    """Every job after those that made its inputs."""
    makers = {path: origin for origin in known for path in origin.outputs}
    order: dict[str, Origin] = {}
    waiting = list(makers.values())
    opened: set[str] = set()
    while waiting:
        origin = waiting[-1]
        name = origin.outputs[0]
        before = [] if name in opened else [makers[path] for path in origin.inputs if path in makers]
        opened.add(name)
        if unopened := [maker for maker in before if maker.outputs[0] not in opened]:
            waiting.extend(unopened)
        else:
            order.setdefault(name, waiting.pop())
    return list(order.values())


def _compare(
    ordered_origins: list[Origin],
    folder: Path,
    checksums: Checksums,
    persistence: FilePersistence,
    findings: Findings,
) -> None:
    written = {path: origin.checksums.get(path) for origin in ordered_origins for path in origin.outputs}
    alike = alike_checksums(ordered_origins, folder)
    newest: dict[str, int] = {}  # of each output, the latest time among all files it was made from
    for origin in ordered_origins:
        times = [moment for path in origin.inputs if (moment := _time(path)) is not None]
        times += [newest[path] for path in origin.inputs if path in newest]
        newest |= dict.fromkeys(origin.outputs, max(times, default=0))
        outputs = [path for path in origin.outputs if os.path.isfile(path)]
        if not outputs:  # if anybody asks for them, Snakemake makes them
            _date(_benchmarks(origin.outputs, folder), newest[origin.outputs[0]], checksums)
            continue
        damaged = _differing(origin, origins.written_files(outputs), checksums.of)
        watched = (
            path for path in origin.inputs if not path.startswith("results/") or folder in Path(path).parents
        )
        recorded = {path: origin.checksums.get(path) for path in watched}
        current = {path: checksums.of(path) or written.get(path) for path in recorded}
        same = {p for p in recorded if current[p] == written.get(p) and recorded[p] in alike.get(p, ())}
        changed = [p for p in recorded if p not in same and current[p] not in (None, recorded[p])]
        findings.damaged += damaged
        findings.outdated += outputs if changed and not damaged else []
        signs = [f"{path} has other content" for path in [*damaged, *changed]]
        rewritten = [_write(persistence, path, origin, signs) for path in outputs]
        products = [*outputs, *_benchmarks(outputs, folder)]
        looks_old = not signs and min(map(_time, products)) < newest[outputs[0]]
        if looks_old:
            findings.unfixable += _date(products, newest[outputs[0]], checksums)
        findings.jobs += (any(rewritten) or looks_old) and not signs


def _date(paths: Sequence[str], newest: int, checksums: Checksums) -> list[str]:
    """Makes files of one job no older than `newest`, if one is; returns those whose time this user cannot change."""
    if not paths or min(map(_time, paths)) >= newest:
        return []
    now = max(newest, time.time_ns())
    return [path for path in paths if not checksums.touch(path, now)]


def _benchmarks(outputs: Iterable[str], folder: Path) -> list[str]:
    """The records of what the jobs took, beside the origins of these outputs.

    Snakemake counts them as outputs, also where they alone are left: a job with a large file that was not copied.
    """
    paths = {folder / origins.FOLDER / Path(path).relative_to(folder).with_suffix(".tsv") for path in outputs}
    return sorted(str(path) for path in paths if path.is_file())


def _differing(origin: Origin, paths: Iterable[str], checksum: Callable[[str], str | None]) -> list[str]:
    """The files whose content is not the recorded one; a missing file does not count."""
    return [path for path in dict.fromkeys(paths) if checksum(path) not in (None, origin.checksums.get(path))]


def _write(persistence: FilePersistence, path: str, origin: Origin, signs: list[str]) -> bool:
    """Writes Snakemake's record of an output if the record differs; returns whether it did."""
    record = _record(origin, signs, (_time(path) or 0) / 1e9)
    old = persistence._read_record(path)
    if old is not None and (old.params, old.input) == (record.params, record.input):
        return False
    persistence._write_record(path, record)
    return True


def _record(origin: Origin, signs: list[str], moment: float) -> MetadataRecord:
    from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord

    return MetadataRecord(
        rule=origin.rule,
        input=list(origin.inputs),
        log=list(origin.log),
        # No rule has such params, so Snakemake sees a change.
        params=sorted([*origin.params, *signs]),
        record_format_version=RECORD_FORMAT_VERSION,
        starttime=moment,
        endtime=moment,
        incomplete=False,
        input_checksums={
            path: f"sha256:{origin.checksums[path]}" for path in origin.inputs if path in origin.checksums
        },
    )


def _mark_unknown(
    known: list[Origin], folder: Path, persistence: FilePersistence, findings: Findings
) -> None:
    recorded = {path for origin in known for path in origin.outputs}
    for name in manifest.results_of(folder):
        path = (folder / name).as_posix()
        # The record beside a table and the description beside a network are parts of it.
        is_beside = path.endswith(".meta.json") or str(Path(path).with_suffix(".safetensors")) in recorded
        if path in recorded or is_beside:
            continue
        if persistence._read_record(path) is None:
            empty = Origin("", (), (), (path,), {})
            persistence._write_record(path, _record(empty, ["no origin"], (_time(path) or 0) / 1e9))
            findings.unknown.append(path)


def renew(folder: Path) -> None:
    """Writes the origins of all files below `results/<run>` anew, from Snakemake's records.

    `snakemake --touch` asks to take files as they are, so their present content becomes the recorded one.
    """
    persistence = _persistence()
    jobs: dict[tuple, list[str]] = {}
    for name in manifest.results_of(folder):
        path = (folder / name).as_posix()
        record = persistence._read_record(path)
        if record is not None and record.rule:
            job = (
                record.rule,
                tuple(record.params or ()),
                tuple(record.input or ()),
                tuple(record.log or ()),
            )
            jobs.setdefault(job, []).append(path)
    for (rule, params, inputs, log), outputs in jobs.items():
        origins.write_origin(
            origins.describe(rule, params=params, inputs=inputs, outputs=outputs, log=log), folder
        )
