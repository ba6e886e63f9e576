"""Results of the same job and inputs whose bytes differ only because they were made on different kinds of processors.

A copy of a run often lacks its large files, such as references. Made again on another machine, they differ by
rounding, and what was made from the old ones is as good as before. So all checksums that a recipe (rule, params and
inputs) has given are remembered.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from tallsbi.runner.origins import FOLDER, RUN_PLACEHOLDER, Origin
from tallsbi.storage import files

FILE_NAME = "alike.json"  # beside the origins, so that it is copied with them


def alike_checksums(ordered_origins: list[Origin], folder: Path) -> dict[str, list[str]]:
    """For every output below `folder`, `results/<run>`, the checksums that its job has given with the same inputs.

    `ordered_origins`: every job after those that made its inputs.
    """
    memory_path, run = folder / FOLDER / FILE_NAME, f"{folder.as_posix()}/"
    remembered: dict[str, list[str]] = {}
    with contextlib.suppress(OSError, ValueError):
        content = files.read_json(memory_path)
        remembered = content if isinstance(content, dict) else {}
    before = {name: list(checksums) for name, checksums in remembered.items()}
    alike: dict[str, list[str]] = {}
    for origin in ordered_origins:
        inputs = {}
        params = [text.replace(run, RUN_PLACEHOLDER) for text in origin.params]
        for path in origin.inputs:
            checksum = origin.checksums.get(path)
            name = path.replace(run, RUN_PLACEHOLDER)
            inputs[name] = alike[path][0] if checksum in alike.get(path, ()) else checksum
        recipe = hashlib.sha256(files.canonical_json([origin.rule, params, inputs]).encode())
        for path in origin.outputs:
            name = path.replace(run, RUN_PLACEHOLDER)
            checksums = remembered.setdefault(f"{name} {recipe.hexdigest()}", [])
            if (checksum := origin.checksums.get(path)) and checksum not in checksums:
                checksums.append(checksum)
            alike[path] = checksums
    if remembered != before:
        with contextlib.suppress(OSError):  # the folder may belong to another user
            files.write_json(remembered, memory_path)
    return alike
