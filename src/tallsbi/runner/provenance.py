"""Where an output comes from: seed, settings, code and versions, attached to the output itself.

A record holds no time, host or user, so that the same job gives the same bytes on any day and machine.
"""

import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallsbi import __version__
from tallsbi.storage.files import canonical_json, sidecar_path, write_json

if TYPE_CHECKING:
    import xarray as xr

PACKAGE = "tallsbi"
ABSENT = "not installed"


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The installed versions of the named distributions, without importing them.

    A build tag ("+cpu") belongs to the machine, not to the study: results may move to a machine with another.
    """
    return {package: _version(package) for package in sorted(packages)}


def _version(package: str) -> str:
    try:
        return metadata.version(package).partition("+")[0]
    except metadata.PackageNotFoundError:
        return ABSENT


def record(
    *,
    seed: int | None,
    config: Mapping[str, Any],
    code: str,
    packages: Sequence[str],
    stream: Sequence[str | int | float] = (),
) -> dict[str, str]:
    """The provenance of one output as text attributes.

    `seed` is the study seed (None for a job without randomness), `stream` the name of the random stream if there is
    one, `config` the settings the job depends on, `code` the fingerprint of what it runs.
    """
    return {
        "tallsbi_version": __version__,
        "python_version": platform.python_version(),
        "package_versions": canonical_json(versions(packages)),
        "code_fingerprint": code,
        "settings": canonical_json(config),
        "study_seed": "none" if seed is None else str(seed),
        "random_stream": canonical_json(list(stream)),
    }


def attach(dataset: "xr.Dataset", provenance: Mapping[str, str]) -> "xr.Dataset":
    """A copy of the dataset with the record among its global attributes."""
    return dataset.assign_attrs(provenance)


def write_sidecar(path: str | Path, provenance: Mapping[str, str]) -> Path:
    """Writes the record next to the file at `path`; returns the path of the record."""
    sidecar = sidecar_path(path)
    write_json(dict(provenance), sidecar)
    return sidecar


def figure_metadata(provenance: Mapping[str, str], fmt: str) -> dict[str, str | None]:
    """The `metadata` for matplotlib's savefig: the record, and no date.

    `fmt` is "pdf", "png" or "svg". An SVG has equal bytes only if `svg.hashsalt` is set as well.
    """
    text = canonical_json(dict(provenance))
    formats: dict[str, dict[str, str | None]] = {
        "pdf": {"Creator": PACKAGE, "Producer": None, "CreationDate": None, "Keywords": text},
        "png": {"Software": PACKAGE, "Description": text},
        "svg": {"Creator": PACKAGE, "Date": None, "Description": text},
    }
    if fmt not in formats:
        raise ValueError(f"no provenance for figures of format {fmt!r}: use pdf, png or svg")
    return formats[fmt]
