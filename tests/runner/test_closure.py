"""The modules that a job can reach: every form of import, inside functions too, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest
from code_project import SCRIPT, make_project, put
from fresh_python import environment
from paths import ROOT

from tallsbi.runner.fingerprint import closure


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def test_closure_has_ancestors_lazy_and_relative_imports(root):
    assert closure(SCRIPT, root=root) == [
        "tallsbi",
        "tallsbi.a",
        "tallsbi.a.deep",
        "tallsbi.a.deep.leaf",
        "tallsbi.a.one",
        "tallsbi.a.two",
        "tallsbi.base",
    ]


def test_type_checking_imports_are_skipped_and_their_else_is_not(root):
    put(
        root,
        "src/tallsbi/typed.py",
        """
        import typing
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from tallsbi.other import UNUSED
        else:
            from tallsbi.a.deep import leaf
        if typing.TYPE_CHECKING:
            import tallsbi.nowhere
        """,
    )
    modules = closure("tallsbi.typed", root=root)
    assert "tallsbi.other" not in modules
    assert "tallsbi.a.deep.leaf" in modules


def test_module_names_in_strings_are_not_followed(root):
    put(root, "src/tallsbi/lazy.py", "import importlib\nimportlib.import_module('tallsbi.other')\n")
    assert closure("tallsbi.lazy", root=root) == ["tallsbi", "tallsbi.lazy"]


@pytest.mark.parametrize(
    "statement",
    [
        "import tallsbi.a.deep.leaf",
        "import os, tallsbi.a.deep.leaf as leaf",
        "from tallsbi.a.deep import leaf",
        "from tallsbi.a.deep.leaf import VALUE",
        "from tallsbi.a.deep import *",
        "from .a.deep import leaf",
        "from . import a, base\nfrom .a.deep.leaf import VALUE",
        "class C:\n    def f(self):\n        if self:\n            from tallsbi.a.deep import leaf",
        "try:\n    import tallsbi.a.deep.leaf\nexcept ImportError:\n    pass",
        "f = lambda: 1\nwith f():\n    import tallsbi.a.deep.leaf",
    ],
)
def test_forms_of_import(root, statement):
    put(root, "src/tallsbi/form.py", statement + "\n")
    assert "tallsbi.a.deep.leaf" in closure("tallsbi.form", root=root)


def test_relative_imports_in_init_and_upwards(root):
    put(
        root,
        "src/tallsbi/a/deep/__init__.py",
        "from . import leaf\nfrom ...base import LIMIT\nfrom .. import two\n",
    )
    assert closure("tallsbi.a.deep", root=root) == [
        "tallsbi",
        "tallsbi.a",
        "tallsbi.a.deep",
        "tallsbi.a.deep.leaf",
        "tallsbi.a.two",
        "tallsbi.base",
    ]


def test_import_cycle_ends(root):
    put(root, "src/tallsbi/p.py", "import tallsbi.q\n")
    put(root, "src/tallsbi/q.py", "import tallsbi.p\n")
    assert closure("tallsbi.p", root=root) == ["tallsbi", "tallsbi.p", "tallsbi.q"]


def test_nothing_of_the_package_is_imported():
    code = (
        "import sys, pathlib\n"
        "from tallsbi.runner.fingerprint import closure\n"
        "assert 'tallsbi.runner.job' in closure('tallsbi.runner.job', root=pathlib.Path(sys.argv[1]))\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('tallsbi', 'torch', 'numpy')))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    modules = ["tallsbi", "tallsbi.runner", "tallsbi.runner.fingerprint", "tallsbi.runner.syntax"]
    assert result.stdout.strip() == str(modules)
