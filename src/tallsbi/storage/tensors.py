"""Tensors with a JSON header in one safetensors file.

The header is stored in the file's own metadata, so that numbers and description stay together. Checksums of both
are stored there too, because the format has none. Reading into numpy arrays does not import torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallsbi.storage import files

if TYPE_CHECKING:
    from torch import Tensor

_HEADER = "tallsbi"


def write_tensors(tensors: Mapping[str, Tensor], header: Any, path: str | Path) -> None:
    """Tensors and a JSON header in one file, in one move; equal content gives equal bytes."""
    from safetensors.torch import save_file

    plain = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    digests = {name: files.digest(_bytes(tensor)) for name, tensor in plain.items()}
    described = {"header": header, "digest": _digest(header), "digests": digests}
    with files.atomic_path(path) as temporary:
        # One key only: the format does not keep the order of several, so the bytes could differ.
        save_file(plain, temporary, metadata={_HEADER: files.canonical_json(described)})


def read_tensors(
    path: str | Path, framework: str = "pt", names: frozenset[str] | None = None
) -> tuple[dict[str, Any], Any]:
    """What `write_tensors` wrote, all tensors or those named; a damaged file gives a `DataError`.

    `framework`: "pt" for torch, "np" for numpy.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework=framework) as opened:
            described = _description(path, opened.metadata())
            if _digest(described["header"]) != described["digest"]:
                raise ValueError("its header has changed")
            chosen = [name for name in opened.keys() if names is None or name in names]  # noqa: SIM118
            # Copies: the arrays of the library may point into the mapped file, which is closed below.
            copied = "clone" if framework == "pt" else "copy"
            tensors = {name: getattr(opened.get_tensor(name), copied)() for name in chosen}
        for name, tensor in tensors.items():
            if files.digest(_bytes(tensor)) != described["digests"][name]:
                raise ValueError(f"the content of {name} has changed")
        return tensors, described["header"]
    except files.DataError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise files.DataError(f"{path} is damaged ({error}): delete it and rerun") from error


def _description(path: str | Path, metadata: dict[str, str] | None) -> dict[str, Any]:
    if metadata is None or _HEADER not in metadata:
        raise files.DataError(
            f"{path} is a safetensors file without the description tallsbi writes: it comes from elsewhere; "
            "write its tensors with `tallsbi.storage.tensors.write_tensors`, or delete it and rerun"
        )
    described = json.loads(metadata[_HEADER])
    if "digest" not in described:
        raise files.DataError(
            f"{path} was written before files carried checksums: it cannot be checked; delete it and rerun"
        )
    return described


def _digest(header: Any) -> str:
    return files.digest(files.canonical_json(header).encode())


def _bytes(tensor: Any) -> bytes:
    """The bytes of a torch tensor or a numpy array."""
    return (tensor.numpy() if hasattr(tensor, "numpy") else tensor).tobytes()
