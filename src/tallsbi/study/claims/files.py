"""The files of claims as one: all of a folder by name, with the claims in the order of their ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = "workflow/resources/claims"


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # libyaml's is ten times as fast
    """Safe YAML. The workflow reads the claims each time it starts."""


class ClaimsError(ValueError):
    """The claims are wrong; the message has a line per problem."""


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.yaml"))


def load(folder: str | Path) -> dict[str, Any]:
    """`variants` and `claims` of all files; other keys are kept, so that the schema can refuse them."""
    files = files_of(Path(folder))
    if not files:
        raise ClaimsError(f"{folder}: no file *.yaml; the claims are missing, take them from the repository")
    merged: dict[str, Any] = {"variants": {}, "claims": []}
    for file in files:
        for key, value in _content(file).items():
            if key == "claims" and isinstance(value, list):
                merged["claims"] += value
            elif key == "variants" and isinstance(value, dict):
                repeated = sorted(merged["variants"].keys() & value.keys())
                if repeated:
                    raise ClaimsError(
                        f"{file}: variants.{repeated[0]} is in another file already; rename one"
                    )
                merged["variants"] |= value
            else:
                merged[key] = value
    if isinstance(merged["claims"], list):
        merged["claims"].sort(key=lambda claim: str(claim.get("id")) if isinstance(claim, dict) else "")
    return merged


def _content(file: Path) -> dict[str, Any]:
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=Loader)
    except yaml.YAMLError as error:
        raise ClaimsError(f"{file}: not YAML ({error})") from error
    if not isinstance(content, dict):
        raise ClaimsError(f"{file}: holds {type(content).__name__}; write `variants:`, `claims:` or both")
    return content
