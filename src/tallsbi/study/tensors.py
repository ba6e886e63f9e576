"""Tensors with a JSON header in one safetensors file.

The header lies in the file's own metadata, so that numbers and description cannot come apart. Reading does
not need torch: whoever wants the numbers in numpy only is spared its import.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallsbi.study import files

if TYPE_CHECKING:
    from torch import Tensor

_HEADER = "tallsbi"


def write_tensors(tensors: Mapping[str, Tensor], header: Any, path: str | Path) -> None:
    """Tensors and a JSON header in one file, in one move; equal content gives equal bytes."""
    from safetensors.torch import save_file

    plain = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    with files.atomic_path(path) as temporary:
        # One key only: the format keeps no order among several.
        save_file(plain, temporary, metadata={_HEADER: files.canonical_json(header)})


def read_tensors(
    path: str | Path, framework: str = "pt", names: frozenset[str] | None = None
) -> tuple[dict[str, Any], Any]:
    """What `write_tensors` wrote, all tensors or those named; a damaged file gives a `DataError`.

    `framework`: "pt" for torch, "np" for numpy.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework=framework) as opened:
            chosen = [name for name in opened.keys() if names is None or name in names]  # noqa: SIM118
            # Copies: what the library hands out may lie in the mapped file.
            copied = "clone" if framework == "pt" else "copy"
            tensors = {name: getattr(opened.get_tensor(name), copied)() for name in chosen}
            return tensors, json.loads(opened.metadata()[_HEADER])
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise files.DataError(f"{path} is damaged ({error}): delete it and rerun") from error
