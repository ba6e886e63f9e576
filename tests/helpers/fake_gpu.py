"""A GPU that is not there: tensors that know device, shape and type but hold no numbers, and a count of what waits.

Torch's fake tensor mode refuses every operation on tensors of different devices, as a GPU would. `Watched` counts what
makes a host wait for a GPU: copies to the host, and questions such as `bool(x.any())`, which it answers itself (all are
so, none is, one row is). Tensors of the host are real as long as nothing of the GPU is in them.

A torch without CUDA lacks the switch between devices that some operations turn; one that does nothing is compiled in a
second. Derivatives, and recurrent networks, remain impossible there.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

GPU = "cuda:0"
_GUARD = """
#include <c10/core/impl/DeviceGuardImplInterface.h>
static c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> guard;
static const c10::impl::DeviceGuardImplRegistrar registered(c10::DeviceType::CUDA, &guard);
"""
_aten = torch.ops.aten


def _number(value: FakeTensor) -> float | int | bool:
    return 0.5 if value.dtype.is_floating_point else 1 if value.dtype != torch.bool else value.all_are


# What depends on numbers that are not there.
_ANSWERS = {
    _aten._local_scalar_dense.default: _number,
    _aten.nonzero.default: lambda mask: mask.new_zeros(1, mask.dim(), dtype=torch.int64),
    _aten.bincount.default: lambda x, weights=None, minlength=0: x.new_ones(minlength),
    _aten.repeat_interleave.Tensor: lambda repeats, output_size=None: repeats.new_zeros(1),
    _aten.equal.default: lambda first, second: True,
}


def missing() -> str | None:
    """Why there can be no fake GPU; None: there can."""
    if torch.backends.cuda.is_built() or shutil.which("c++"):
        return None
    return "a torch without CUDA needs a C++ compiler (c++) for a fake GPU"


def install(folder: Path) -> None:
    """Registers the switch between devices; once per process."""
    if torch.backends.cuda.is_built():
        return
    source, library = folder / "guard.cpp", folder / "guard.so"
    source.write_text(_GUARD)
    home = Path(torch.__file__).parent
    command = [
        "c++",
        "-std=c++20",
        "-shared",
        "-fPIC",
        f"-I{home / 'include'}",
        str(source),
        "-o",
        str(library),
    ]
    subprocess.run([*command, f"-L{home / 'lib'}", "-lc10"], check=True, capture_output=True)
    ctypes.CDLL(str(library))


@dataclass
class Waits:
    """What made the host wait: copies from the GPU, by shape, and questions, by operation."""

    copies: list[tuple[int, ...]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.copies) + len(self.questions)


class Watched(TorchDispatchMode):
    """Counts waits and answers questions."""

    def __init__(self, waits: Waits) -> None:
        super().__init__()
        self.waits = waits

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        fake = any(isinstance(tensor, FakeTensor) for tensor in tensors)
        if not fake and torch.device(kwargs.get("device") or "cpu").type == "cpu":
            with _disable_current_modes():
                return func(*args, **kwargs)
        on_gpu = any(tensor.device.type == "cuda" for tensor in tensors)
        if func in _ANSWERS:
            self.waits.questions.append(func.__name__)
            return _ANSWERS[func](*args, **kwargs)
        if func in (_aten.index.Tensor, _aten.index_put.default, _aten.index_put_.default):
            args = (args[0], [place for index in args[1] for place in self._places(index)], *args[2:])
        result = func(*args, **kwargs)
        if isinstance(result, FakeTensor):
            result.all_are = func is _aten.all.default
        if on_gpu and isinstance(result, torch.Tensor) and result.device.type == "cpu":
            self.waits.copies.append(tuple(result.shape))
        return result

    def _places(self, index: torch.Tensor | None) -> list[torch.Tensor | None]:
        """A mask among indices is a question too: which places does it have?"""
        if index is None or index.dtype != torch.bool or index.device.type != "cuda":
            return [index]
        self.waits.questions.append("mask")
        return [index.new_zeros(1, dtype=torch.int64) for _ in range(index.dim())]


def _moved(module: nn.Module, function: Any, recurse: bool = True) -> nn.Module:
    """`Module.to` without swapping tensors, which fake ones refuse."""
    for child in module.children():
        _moved(child, function)
    for name, parameter in module._parameters.items():
        if parameter is not None:
            with torch.no_grad():
                module._parameters[name] = nn.Parameter(function(parameter), parameter.requires_grad)
    for name, buffer in module._buffers.items():
        module._buffers[name] = None if buffer is None else function(buffer)
    return module


@contextmanager
def fake_gpu() -> Iterator[Waits]:
    """In here `device="cuda:0"` exists."""
    waits, apply = Waits(), nn.Module._apply
    nn.Module._apply = _moved
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), Watched(waits):
            yield waits
    finally:
        nn.Module._apply = apply
