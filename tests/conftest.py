"""Settings of every test run: array shapes are checked at run time, and torch and JAX compute on one thread.

The annotations of tallsbi name the axes of every array. An import hook checks them, and the types of all
other arguments, at each call; it has to be in place before the first import of tallsbi, hence here. Outside
the tests the annotations cost nothing. The runner, the storage and the like are left out:
they have no arrays, and their functions explain a wrong argument themselves.
"""

import os
import pkgutil
from importlib.util import find_spec

# JAX on one thread, set before anything imports it: test processes run side by side.
os.environ.update(NPROC="1", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false")

import pytest
import torch
from jaxtyping import install_import_hook

_UNCHECKED_PACKAGES = {"runner", "storage", "random", "progress"}
# As in Python's typing rules, an int is good enough for a float: configuration files write 3 for 3.0.
_TYPE_CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
_package = find_spec("tallsbi")
install_import_hook(
    [
        f"tallsbi.{module.name}"
        for module in pkgutil.iter_modules(_package.submodule_search_locations)
        if module.name not in _UNCHECKED_PACKAGES
    ],
    _TYPE_CHECKER,
)
torch.set_num_threads(1)

# The folders whose files take longest, first. `make test` hands out one file after the other: a slow file that starts
# last leaves the other cores idle.
SLOW_FOLDERS = ("dag", "api")


def _rank(item: pytest.Item) -> int:
    folder = item.path.parent.name
    return SLOW_FOLDERS.index(folder) if folder in SLOW_FOLDERS else len(SLOW_FOLDERS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow folders come first, and coverage follows the first case of a parametrised test only.

    The other cases run the same lines, half as fast.
    """
    items.sort(key=_rank)
    traced: set[str] = set()
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in traced:
            item.add_marker(pytest.mark.no_cover)
        traced.add(name)
