"""Random streams that a simulator draws from, global ones and its own generators: seeded for a call, then restored."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType
from typing import Any

import numpy as np
import torch

from tallsbi.random import integer_seed


@contextmanager
def seeded(simulator: Callable[..., Any], seed: int) -> Iterator[None]:
    """Seeds the global streams of torch, numpy and Python, and the generators that the simulator refers to.

    Generators of its own are seeded too: forked processes would otherwise all draw the same numbers from them.
    """
    global_states = np.random.get_state(), random.getstate()  # noqa: NPY002 (the stream a simulator may draw from)
    generators = _generators(simulator)
    states = [_state(generator) for generator in generators]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        random.seed(seed)
        for i, generator in enumerate(generators):
            _seed(generator, integer_seed(seed, "generator", i))
        try:
            yield
        finally:
            np.random.set_state(global_states[0])  # noqa: NPY002
            random.setstate(global_states[1])
            for generator, state in zip(generators, states, strict=True):
                _restore(generator, state)


def code_digest(simulator: Callable[..., Any]) -> str:
    """A checksum of a simulator's code, so that kept results of another simulator are not used."""
    digest = hashlib.sha256()
    for function in _functions(simulator):
        _add_code(digest, function.__code__)
    return digest.hexdigest()


def _add_code(digest: Any, code: CodeType) -> None:
    digest.update(code.co_code + repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(digest, constant)
        else:
            digest.update(repr(constant).encode())


def _functions(simulator: Any) -> list[Any]:
    """The Python functions of a simulator: itself, what it wraps, and what these call in its module or closure."""
    unvisited, functions = [simulator], {}
    while unvisited:
        value = unvisited.pop()
        if isinstance(value, partial):
            unvisited += [value.func, *value.args, *value.keywords.values()]
            continue
        function = getattr(value, "__func__", value)
        if not hasattr(function, "__code__") and value is simulator and callable(value):
            function = type(value).__call__
        if not hasattr(function, "__code__") or id(function) in functions:
            continue
        functions[id(function)] = function
        global_values = [function.__globals__.get(name) for name in function.__code__.co_names]
        unvisited += [v for v in global_values if getattr(v, "__globals__", None) is function.__globals__]
        unvisited += _closure_values(function)
    return list(functions.values())


def _generators(simulator: Any) -> list[Any]:
    """Generators among the globals, closures, defaults, arguments and attributes that a simulator refers to."""
    values: list[Any] = []
    inner = simulator
    while isinstance(inner, partial):
        values += [*inner.args, *inner.keywords.values()]
        inner = inner.func
    values += list(getattr(getattr(inner, "__self__", inner), "__dict__", {}).values())
    for function in _functions(simulator):
        values += [function.__globals__.get(name) for name in function.__code__.co_names]
        values += [
            *_closure_values(function),
            *(function.__defaults__ or ()),
            *(function.__kwdefaults__ or {}).values(),
        ]
    kinds = (np.random.Generator, np.random.RandomState, torch.Generator, random.Random)
    return list({id(value): value for value in values if isinstance(value, kinds)}.values())


def _closure_values(function: Any) -> list[Any]:
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            continue  # not filled yet
    return values


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.get_state()


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


def _seed(generator: Any, seed: int) -> None:
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
        bits.state = type(bits)(seed).state
    elif isinstance(generator, torch.Generator):
        generator.manual_seed(seed)
    else:
        generator.seed(seed % 2**32)
