"""Programs in a Python of their own, with the sources of the repository on its path."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

from paths import SOURCES


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, with the package of the repository and with changes."""
    return {**os.environ, "PYTHONPATH": str(SOURCES), **changes}


def loaded(code: str, *modules: str) -> list[str]:
    """Those of the modules that are loaded when the code has run."""
    program = f"{code}\nimport sys\nprint([name for name in {modules!r} if name in sys.modules])"
    printed = subprocess.check_output([sys.executable, "-c", program], env=environment(), text=True)
    return ast.literal_eval(printed.splitlines()[-1])
