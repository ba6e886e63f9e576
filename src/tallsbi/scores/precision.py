"""The number format of a score network's hidden products: float32, or bfloat16 where the machine multiplies in it.

bfloat16 has the range of float32 and 8 bits of its digits. Products of two such numbers are summed in float32, so that
one rounding of each activation and each weight is what a hidden layer loses: 0.2 % of each, at random. Everything else,
the first and the last layer, the composition and the solver, stays in float32. docs/precision.md has what that changes.

Machines without such products emulate them, which is slower than float32 and no more exact: there it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

FLOAT32, BFLOAT16 = "float32", "bfloat16"
PRECISIONS = (FLOAT32, BFLOAT16)
_FIRST_CUDA = (8, 0)  # compute capability of the first cards that multiply in bfloat16


class PrecisionUnsupported(ValueError):
    """A precision that the device would emulate."""


def missing(device: torch.device | str) -> str | None:
    """What the device lacks for products in bfloat16; None: nothing."""
    device = torch.device(device)
    if device.type == "cpu":
        known = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        if torch.backends.mkldnn.is_available() and any(
            getattr(torch.cpu, name, lambda: False)() for name in known
        ):
            return None
        return "this processor has neither AVX512-BF16 nor AMX"
    if device.type == "cuda":
        capability = torch.cuda.get_device_capability(device)
        if capability >= _FIRST_CUDA:
            return None
        return f"the GPU has compute capability {'.'.join(map(str, capability))}, and it takes 8.0 or later"
    return f"nothing is known of products in bfloat16 on {device.type!r}"


def checked(precision: str, device: torch.device | str, dtype: torch.dtype = torch.float32) -> str:
    """The precision, if there is such a one and the device has it."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision = {precision!r}: it must be one of {', '.join(map(repr, PRECISIONS))}.")
    if precision == BFLOAT16:
        if dtype != torch.float32:
            name = str(dtype).removeprefix("torch.")
            raise ValueError(
                f"precision = {precision!r} with dtype = {name!r}: reduced products within {name} make no sense; set "
                "dtype to float32, or precision to float32."
            )
        if reason := missing(device):
            raise PrecisionUnsupported(
                f"precision = {precision!r}: {reason}, so that it would be emulated, slower than float32; set "
                "precision to 'float32'."
            )
    return precision


@contextmanager
def float32_sums(device: torch.device) -> Iterator[None]:
    """GPUs may sum parts of a product in bfloat16 unless they are told not to; processors never do."""
    if device.type != "cuda":
        yield
        return
    switches = torch.backends.cuda.matmul
    before = switches.allow_bf16_reduced_precision_reduction
    switches.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        switches.allow_bf16_reduced_precision_reduction = before
