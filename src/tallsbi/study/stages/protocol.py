"""The protocol of everything that is timed, and the memory that a run needs.

All methods are timed in one process with nothing beside it, on one thread, one dataset at a time. They take turns: a
round goes through all cells once, in an order drawn anew, so that a slow moment of the machine hits all alike. Before
the first round every method runs once at the fewest steps, to warm up caches and compilers. A time includes all that
an algorithm does for a dataset (GAUSS: its covariance runs).

Memory: Linux keeps the largest resident set of a process (VmHWM) and resets it when asked to; the growth is that
maximum less what was resident before. On systems without this the growth is NaN.
"""

from __future__ import annotations

import ctypes
import gc
import platform
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

Result = TypeVar("Result")
Cell = TypeVar("Cell")
_RESET_PEAK = "5"  # written to clear_refs, it makes the peak what is resident now


def hardware(device: str) -> str:
    """What a job on the device is timed on: the graphics card, or one thread of the processor."""
    if device != "cpu":
        return torch.cuda.get_device_name(device)
    return f"one thread of {_processor()}"


def _processor() -> str:
    """The model of the processor; where Linux does not tell, what the platform calls it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(\S.*)$", text, re.MULTILINE)
    return " ".join(match[1].split()) if match else platform.processor() or platform.machine() or "a CPU"


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result of `work`, and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def turns(cells: Sequence[Cell], rounds: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """(round, index of a cell), round by round, each in an order of its own; rounds are counted from 1."""
    return [(round_, int(k)) for round_ in range(1, rounds + 1) for k in rng.permutation(len(cells))]


def peak_growth(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result of `work`, and by how many MiB the process's peak memory rose meanwhile (NaN: unknown)."""
    gc.collect()
    _return_free_memory()
    measured = _restart_peak()
    before = _status("VmRSS")
    result = work()
    return result, max(_status("VmHWM") - before, 0.0) / 2**10 if measured else np.nan


def _return_free_memory() -> None:
    """Free memory that the allocator holds back counts as resident, and would hide what `work` needs."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _restart_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return False
    return not np.isnan(_status("VmHWM") + _status("VmRSS"))


def _status(field: str) -> float:
    """A field of the process's status, in KiB."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return np.nan
    match = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
    return float(match[1]) if match else np.nan
