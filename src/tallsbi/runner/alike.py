"""Results that differ in their bytes alone: the same job, of the same inputs, on different kinds of processors.

A copy of a run often lacks what is large, such as references. Made again on another machine, they differ by rounding,
and what was made of the old ones is as good as before. So all checksums are remembered that a recipe (rule, params
and inputs) was seen to give.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from tallsbi.runner.origins import FOLDER, RUN, Origin
from tallsbi.storage import files

NAME = "alike.json"  # beside the origins, so that it is copied with them


def alike_contents(ordered: list[Origin], folder: Path) -> dict[str, list[str]]:
    """Of every output below `folder`, `results/<run>`, what the same job wrote of the same inputs.

    `ordered`: every job after those that made its inputs.
    """
    path_of_seen, run = folder / FOLDER / NAME, f"{folder.as_posix()}/"
    seen: dict[str, list[str]] = {}
    with contextlib.suppress(OSError, ValueError):
        content = files.read_json(path_of_seen)
        seen = content if isinstance(content, dict) else {}
    before = {name: list(found) for name, found in seen.items()}
    alike: dict[str, list[str]] = {}
    for origin in ordered:
        inputs = {}
        params = [each.replace(run, RUN) for each in origin.params]
        for path in origin.inputs:
            value = origin.checksums.get(path)
            name = path.replace(run, RUN)
            inputs[name] = alike[path][0] if value in alike.get(path, ()) else value
        recipe = hashlib.sha256(files.canonical_json([origin.rule, params, inputs]).encode())
        for path in origin.outputs:
            found = seen.setdefault(f"{path.replace(run, RUN)} {recipe.hexdigest()}", [])
            if (value := origin.checksums.get(path)) and value not in found:
                found.append(value)
            alike[path] = found
    if seen != before:
        with contextlib.suppress(OSError):  # of somebody else who lets nobody write
            files.write_json(seen, path_of_seen)
    return alike
