"""Reading and writing the files of the study: outputs appear whole or not at all, with equal bytes each time.

Everything is written to a hidden file next to its destination and moved into place at the end, so a job
that is killed or meets a full disk leaves nothing that looks like a result. Libraries for tables and
arrays are imported by the functions that need them.
"""

import csv
import errno
import hashlib
import io
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


# How a file system says that there is no room: the disk, the user's share of it, the largest file allowed.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LARGEST_CHUNK = 2**32  # bytes, the most that HDF5 allows
_TEMPORARY = re.compile(r"\..+\.\d+-[0-9a-f]{8}(\.\w+)?")


class DataError(ValueError):
    """A file of the study exists but cannot be used."""


def _damaged(path: Path, reason: object) -> DataError:
    return DataError(f"{path} is damaged ({reason}): delete it and rerun")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Gives a path to write to; when the block ends well the file there replaces `path`, else it is removed.

    The temporary file keeps the suffix, from which some libraries choose the format.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    except Exception as error:
        reason = no_room(error)
        if reason is None:
            raise
        text = f"{os.strerror(reason)}: nothing was written; make room or raise the limit, and rerun"
        raise OSError(reason, text, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def no_room(error: Exception) -> int | None:
    """The error number if a write failed because there was no room; some libraries only put it into their message."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno if error.errno in _NO_ROOM else None
    return next((number for number in _NO_ROOM if os.strerror(number) in str(error)), None)


def is_temporary(path: Path) -> bool:
    """Whether `atomic_path` made this name. Such a file is unfinished: it is being written, or its job was killed."""
    return _TEMPORARY.fullmatch(path.name) is not None


def write_text(text: str, path: str | Path) -> None:
    """Writes text as UTF-8 with the line endings it has."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def canonical_json(value: Any, *, indent: int | None = None) -> str:
    """JSON with sorted keys. numpy values become plain ones; NaN and infinity, which JSON lacks, are refused."""
    return json.dumps(
        value, sort_keys=True, allow_nan=False, ensure_ascii=False, indent=indent, default=_plain
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r} ({type(value).__name__}) has no JSON form: convert it to plain values first")


def write_json(value: Any, path: str | Path) -> None:
    """Writes JSON with sorted keys. NaN and infinity are refused: give None where there is no number."""
    try:
        text = canonical_json(value, indent=2)
    except ValueError as error:
        raise ValueError(f"cannot write {path}: {error}; use None for missing numbers") from error
    write_text(text + "\n", path)


def read_json(path: str | Path) -> Any:
    """Reads JSON; a damaged file gives a `DataError`."""
    path = Path(path)
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise _damaged(path, error) from error


_TABLE = {"index": False, "lineterminator": "\n", "encoding": "utf-8"}


def write_csv(frame: "pd.DataFrame", path: str | Path) -> None:
    """Writes a table without its index; numbers are written so that `read_csv` gives them back exactly."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, **_TABLE)


def table_text(frame: "pd.DataFrame") -> str:
    """What `write_csv` writes."""
    return frame.to_csv(None, **_TABLE)


def sidecar_path(path: str | Path) -> Path:
    """Where the record of a file without attributes lies: ``table.csv`` has ``table.csv.meta.json``."""
    path = Path(path)
    return path.with_name(f"{path.name}.meta.json")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_csv(path: str | Path) -> "pd.DataFrame":
    """Reads a table; an empty, truncated or ragged file gives a `DataError`.

    So does a file whose content differs from the checksum in the record beside it, if there is a record. Empty
    fields are missing values; words such as "NA" or "None" stay words.
    """
    import pandas as pd

    path = Path(path)
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
        _check_table(text)
        _check_record(path, content)
        return pd.read_csv(
            io.StringIO(text),
            index_col=False,
            keep_default_na=False,
            na_values=[""],
        )
    except (ValueError, csv.Error) as error:
        raise _damaged(path, error) from error


def _check_record(path: Path, content: bytes) -> None:
    # A table that is cut between two lines still parses: only the checksum shows it.
    record = sidecar_path(path)
    if record.exists():
        expected = read_json(record).get("sha256")
        if expected is not None and digest(content) != expected:
            raise ValueError(f"it is not the content recorded in {record.name}")


def _check_table(text: str) -> None:
    # pandas fills short lines with missing values, which would hide a file cut in the middle.
    if not text.strip():
        raise ValueError("empty file")
    if "\0" in text:
        raise ValueError("binary content")
    if not text.endswith("\n"):
        raise ValueError("the last line is cut")
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    width = len(next(rows))
    for row in rows:
        if len(row) != width:
            raise ValueError(f"line {rows.line_num} has {len(row)} fields, the header {width}")


def write_dataset(dataset: "xr.Dataset", path: str | Path) -> None:
    """Writes a dataset as netCDF 4, uncompressed, with checksums: equal datasets give equal bytes.

    Attributes that netCDF cannot hold (booleans, None, mappings, nested lists) are stored as JSON text.
    """
    # What a dataset remembers of the file it was read from (chunks, compression) must not reach the bytes.
    plain = dataset.drop_encoding()
    plain.attrs = _safe_attributes(dataset.attrs)
    for name in plain.variables:
        plain[name].attrs = _safe_attributes(dataset[name].attrs)
    # Checksums are kept by chunk. The whole of a variable is one, since variables are read whole.
    checked = {
        name: {"fletcher32": True, "chunksizes": variable.shape}
        for name, variable in plain.variables.items()
        if variable.dtype.kind in "iufb" and variable.ndim > 0 and 0 < variable.nbytes < _LARGEST_CHUNK
    }
    # The bytes are made in memory first: HDF5 can crash the process when a disk is full.
    content = plain.to_netcdf(format="NETCDF4", engine="h5netcdf", encoding=checked)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def _safe_attributes(attributes: dict[Any, Any]) -> dict[Any, Any]:
    return {name: _safe_attribute(value) for name, value in attributes.items()}


def _safe_attribute(value: Any) -> Any:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("i", "u", "f") and getattr(value, "size", 0) > 0:
        return value
    return canonical_json(value)


def read_dataset(path: str | Path) -> "xr.Dataset":
    """Reads a whole netCDF file into memory and closes it; a damaged file gives a `DataError`.

    Numbers with a unit of time stay numbers: the study holds durations, not dates.
    """
    import xarray as xr

    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no file {path}: run the rule that makes it")
    try:
        dataset = xr.load_dataset(path, engine="h5netcdf", decode_times=False, decode_timedelta=False)
    except PermissionError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise _damaged(path, error) from error
    return dataset.drop_encoding()


def read_attributes(path: str | Path) -> dict[str, Any]:
    """The global attributes of a netCDF file, without its numbers; a damaged file gives a `DataError`."""
    import h5netcdf

    try:
        with h5netcdf.File(path, "r") as opened:
            return dict(opened.attrs)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise _damaged(Path(path), error) from error
