"""A small package and a script that imports of it, for the tests of closures and fingerprints."""

import itertools
import os
import textwrap
from pathlib import Path

SCRIPT = "workflow/scripts/run.py"

PROJECT = {
    "src/tallsbi/__init__.py": '"""The package."""\n__version__ = "1.0"\nVERSION = 1\n',
    "src/tallsbi/a/__init__.py": "from tallsbi import base\n",
    "src/tallsbi/a/one.py": """
        '''Doc of the module.'''
        from tallsbi.a.two import double

        def run(x):
            '''Doc of the function.'''
            return double(x) + 3  # why
        """,
    "src/tallsbi/a/two.py": "def double(x):\n    from .deep import leaf\n    return 2 * x + leaf.VALUE\n",
    "src/tallsbi/a/deep/__init__.py": "",
    "src/tallsbi/a/deep/leaf.py": "VALUE = 0.5\n",
    "src/tallsbi/base.py": "LIMIT = 10\n",
    "src/tallsbi/other.py": "from tallsbi.a import one\nUNUSED = 1\n",
    SCRIPT: "from tallsbi.a.one import run\nprint(run(1))\n",
    "workflow/numbers.yaml": "a: 1\nb: 2\n",
}

_ticks = itertools.count(1)


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip("\n"))
    # Two edits within one tick of the file system's clock would share a time, as no editor's would.
    time = 1_700_000_000 + next(_ticks)
    os.utime(path, (time, time))


def edit(root: Path, name: str, old: str, new: str) -> None:
    text = (root / name).read_text()
    assert old in text
    put(root, name, text.replace(old, new))


def make_project(root: Path) -> Path:
    for name, text in PROJECT.items():
        put(root, name, text)
    return root
