"""A copy of the study in a directory of its own, and what Snakemake would do there."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
COPIED = ("Snakefile", "Makefile", "config.yaml", "workflow", "profiles", "src", "benchmarks")
_RULE = re.compile(r"^(?:local)?rule (\w+):$")
_OUTPUT = re.compile(r"^    output: (.*)$")


@dataclass(frozen=True)
class Study:
    root: Path

    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MAKE"))}
        return {**kept, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        return self._finish([sys.executable, "-m", "snakemake", *arguments], self.environment())

    def make_command(self, target: str = "results", **variables: str) -> list[str]:
        """`make` in this copy, with the interpreter of the tests in place of an environment of its own."""
        given = {"READY": ".ready", "BIN": str(Path(sys.executable).parent), **variables}
        return ["make", "-o", ".ready", target, *(f"{name}={value}" for name, value in given.items())]

    def make_environment(self) -> dict[str, str]:
        """The copy's package, as an environment built in it would have it."""
        return {**self.environment(), "PYTHONPATH": str(self.root / "src")}

    def make(self, target: str = "results", **variables: str) -> subprocess.CompletedProcess:
        return self._finish(self.make_command(target, **variables), self.make_environment())

    def _finish(self, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess:
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )

    def run(self, *arguments: str) -> None:
        done = self.snakemake("--cores", "2", *arguments)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]

    def planned(self, *arguments: str) -> dict[str, list[str]]:
        """The outputs of every rule that would run, by rule; empty when there is nothing to do."""
        return self.dry_run(*arguments)[0]

    def dry_run(self, *arguments: str) -> tuple[dict[str, list[str]], str]:
        """The outputs of every rule that would run, by rule, and all that Snakemake prints."""
        done = self.snakemake("--dry-run", "--cores", "2", *arguments)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        jobs: dict[str, list[str]] = {}
        rule = ""
        for line in (done.stdout + done.stderr).splitlines():
            if match := _RULE.match(line):
                rule = match[1]
            elif match := _OUTPUT.match(line):
                jobs.setdefault(rule, []).extend(match[1].split(", "))
        assert jobs or "Nothing to be done" in done.stdout + done.stderr
        return jobs, done.stdout + done.stderr

    def edit(self, path: str, old: str, new: str) -> None:
        """Replaces a piece of text that must be there exactly once."""
        file = self.root / path
        text = file.read_text()
        assert text.count(old) == 1, f"{path} holds {text.count(old)} times: {old}"
        file.write_text(text.replace(old, new))

    def add_code(self, path: str) -> None:
        """A statement at the end of a module, which changes its fingerprint and nothing that it computes."""
        with (self.root / path).open("a", encoding="utf-8") as module:
            module.write("\nLAST_CHANGE = 1\n")

    def add_remarks(self) -> None:
        """A comment in every module, and another layout of its lines: no fingerprint changes."""
        for path in self.python_files():
            text = path.read_text(encoding="utf-8")
            path.write_text(f"# a remark\n{text}\n\n# another remark\n", encoding="utf-8")
        layout = ["format", "--quiet", "--line-length", "60", "src", "workflow/scripts"]
        subprocess.run([sys.executable, "-m", "ruff", *layout], cwd=self.root, check=True)

    @contextmanager
    def restored(self, path: str) -> Iterator[Path]:
        """The file, whose content is put back at the end."""
        file = self.root / path
        content = file.read_bytes()
        try:
            yield file
        finally:
            file.write_bytes(content)

    def python_files(self) -> list[Path]:
        return sorted([*self.root.glob("src/**/*.py"), *self.root.glob("workflow/scripts/*.py")])


def clone(target: Path, *, source: Path = REPOSITORY, results_of: Study | None = None) -> Study:
    """The study's files as a fresh clone would have them: new modification times, no results.

    `results_of`: results and Snakemake's records of another study are put beside them.
    """
    target.mkdir(parents=True)
    for part in COPIED:
        if (source / part).is_dir():
            shutil.copytree(
                source / part,
                target / part,
                copy_function=shutil.copyfile,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        else:
            shutil.copyfile(source / part, target / part)
    if results_of is not None:
        for part in ("results", ".snakemake"):
            shutil.copytree(results_of.root / part, target / part, symlinks=True)
    return Study(target)


def take_as_finished(study: Study, *arguments: str) -> dict[str, list[str]]:
    """Every output is a file that holds its own path, and Snakemake takes it for the work of its job.

    Nothing is computed: `--touch` records settings, code and versions of every job. Returns the outputs by rule.
    """
    outputs = study.planned(*arguments)
    for path in (path for paths in outputs.values() for path in paths):
        (study.root / path).parent.mkdir(parents=True, exist_ok=True)
        (study.root / path).write_text(path)
    done = study.snakemake("--touch", "--forceall", "--cores", "2", *arguments)
    assert done.returncode == 0, done.stderr[-3000:]
    return outputs


def digests(study: Study) -> dict[str, str]:
    """Checksums of all results by path, without logs and records."""
    results = study.root / "results"
    return {
        path.relative_to(results).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(results.rglob("*"))
        if path.is_file() and not {"logs", "records"} & set(path.parts)
    }


def setting(key: str, block: str) -> str:
    """A block of YAML as Snakemake takes it on the command line."""
    return f"{key}={{{', '.join(block.strip().splitlines())}}}"
