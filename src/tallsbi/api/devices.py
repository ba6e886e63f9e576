"""Where a posterior is trained and drawn: `device=` and `precision=` of the library, checked before anything runs."""

from __future__ import annotations

from typing import Any

import torch

from tallsbi.scores.precision import checked


def available(kind: str) -> int:
    """How many devices of a kind torch sees."""
    return torch.cuda.device_count() if kind == "cuda" and torch.cuda.is_available() else 0


def device_of(value: Any) -> str:
    """The device's name, if it is here."""
    try:
        device = torch.device(value)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device = {value!r}: give 'cpu', 'cuda' or one of several as 'cuda:1'.") from error
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device = {str(value)!r}: give 'cpu' or 'cuda'; nothing else was tried.")
    count = available("cuda")
    if device.type == "cuda" and not count:
        raise ValueError(
            f"device = {str(value)!r}: torch sees no GPU on this machine; set device='cpu', or, where there is one "
            "(`nvidia-smi` lists them), install a build of torch for CUDA."
        )
    if device.type == "cuda" and (device.index or 0) >= count:
        raise ValueError(
            f"device = {str(value)!r}: torch sees {count} GPU(s) here, 'cuda:0' to 'cuda:{count - 1}'."
        )
    return str(device)


def precision_of(value: Any, device: str) -> str:
    """The precision, if the device has it."""
    return checked(value, device)
