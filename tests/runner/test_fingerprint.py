"""Fingerprints change with the code that runs and with nothing else."""

import ast
import os
import shutil
from pathlib import Path

import pytest
from code_project import SCRIPT, edit, make_project, put
from hypothesis import given, settings
from hypothesis import strategies as st

from tallsbi.runner.fingerprint import FingerprintError, fingerprint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def test_digest_is_short_hexadecimal(root):
    digest = fingerprint(SCRIPT, root=root)
    assert 16 <= len(digest) <= 20
    int(digest, 16)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("src/tallsbi/a/one.py", "# why", "# another reason"),
        ("src/tallsbi/a/one.py", "Doc of the module.", "Other words."),
        ("src/tallsbi/a/one.py", "'''Doc of the function.'''", "'''Other words.\n\n    More.\n    '''"),
        ("src/tallsbi/a/one.py", "    '''Doc of the function.'''\n", ""),
        ("src/tallsbi/a/one.py", "double(x) + 3", "(\n        double( x )\n        +   3\n    )"),
        ("src/tallsbi/a/one.py", "def run", "\n\n\ndef run"),
        ("src/tallsbi/a/deep/leaf.py", "0.5", "0.50"),
        ("src/tallsbi/a/deep/leaf.py", "0.5\n", "0.5\n'''What the value is.'''\n"),
        ("src/tallsbi/other.py", "UNUSED = 1", "UNUSED = 2"),
        ("src/tallsbi/__init__.py", '"1.0"', '"1.1"'),
    ],
)
def test_what_does_not_run_does_not_count(root, name, old, new):
    before = fingerprint(SCRIPT, root=root)
    edit(root, name, old, new)
    assert fingerprint(SCRIPT, root=root) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (SCRIPT, "run(1)", "run(2)"),
        ("src/tallsbi/a/one.py", "+ 3", "+ 4"),
        ("src/tallsbi/a/one.py", "+ 3", "- 3"),
        ("src/tallsbi/a/one.py", "+ 3", "+ 3.0"),
        ("src/tallsbi/a/one.py", "def run(x)", "def run(x: int)"),
        ("src/tallsbi/a/two.py", "2 * x", "x * 2"),
        ("src/tallsbi/a/deep/leaf.py", "0.5", "'0.5'"),
        ("src/tallsbi/a/deep/leaf.py", "0.5", "None"),
        ("src/tallsbi/__init__.py", "VERSION = 1", "VERSION = 2"),
        ("src/tallsbi/a/__init__.py", "base\n", "base\nX = 1\n"),
        ("src/tallsbi/base.py", "10", "11"),
    ],
)
def test_what_runs_counts(root, name, old, new):
    before = fingerprint(SCRIPT, root=root)
    edit(root, name, old, new)
    assert fingerprint(SCRIPT, root=root) != before


def test_touch_does_not_count(root):
    before = fingerprint(SCRIPT, root=root)
    os.utime(root / "src/tallsbi/a/one.py", (1, 1))
    assert fingerprint(SCRIPT, root=root) == before


def test_swapped_contents_of_two_modules_count(root):
    put(root, "src/tallsbi/p.py", "X = 1\n")
    put(root, "src/tallsbi/q.py", "X = 2\n")
    before = fingerprint("tallsbi.p", "tallsbi.q", root=root)
    put(root, "src/tallsbi/p.py", "X = 2\n")
    put(root, "src/tallsbi/q.py", "X = 1\n")
    assert fingerprint("tallsbi.p", "tallsbi.q", root=root) != before


def test_name_of_a_module_counts(root):
    put(root, "src/tallsbi/p.py", "X = 1\n")
    put(root, "src/tallsbi/q.py", "X = 1\n")
    assert fingerprint("tallsbi.p", root=root) != fingerprint("tallsbi.q", root=root)


def test_clone_elsewhere_has_the_same_fingerprint(root, tmp_path_factory):
    clone = tmp_path_factory.mktemp("clone") / "deeper"
    shutil.copytree(root, clone)
    assert fingerprint(SCRIPT, "workflow/numbers.yaml", root=clone) == fingerprint(
        SCRIPT, "workflow/numbers.yaml", root=root
    )


def test_entry_order_repeats_and_spelling_do_not_count(root):
    plain = fingerprint(SCRIPT, "tallsbi.other", root=root)
    assert fingerprint("tallsbi.other", SCRIPT, SCRIPT, root=root) == plain
    assert fingerprint(root / SCRIPT, root / "src/tallsbi/other.py", root=root) == plain


def test_extra_entry_counts(root):
    assert fingerprint(SCRIPT, "tallsbi.other", root=root) != fingerprint(SCRIPT, root=root)


def test_data_counts_with_its_bytes_but_not_line_endings(root):
    path = root / "workflow/numbers.yaml"
    before = fingerprint("workflow/numbers.yaml", root=root)
    path.write_bytes(b"a: 1\r\nb: 2\r\n")
    assert fingerprint("workflow/numbers.yaml", root=root) == before
    path.write_bytes(b"a: 1\nb: 3\n")
    assert fingerprint("workflow/numbers.yaml", root=root) != before


def test_neighbours_of_a_script_count(root):
    put(root, "workflow/scripts/shared.py", "X = 1\n")
    put(root, SCRIPT, "import shared\nimport json\n")
    before = fingerprint(SCRIPT, root=root)
    put(root, "workflow/scripts/shared.py", "X = 2\n")
    assert fingerprint(SCRIPT, root=root) != before


def test_deleted_module_is_named(root):
    fingerprint(SCRIPT, root=root)
    (root / "src/tallsbi/a/two.py").unlink()
    with pytest.raises(FingerprintError, match=r"one\.py, line 2: imports tallsbi\.a\.two"):
        fingerprint(SCRIPT, root=root)


def test_deleting_an_unused_module_does_not_count(root):
    before = fingerprint(SCRIPT, root=root)
    (root / "src/tallsbi/other.py").unlink()
    assert fingerprint(SCRIPT, root=root) == before


def test_missing_entries_are_named(root):
    with pytest.raises(FingerprintError, match=r"tallsbi\.nowhere"):
        fingerprint("tallsbi.nowhere", root=root)
    with pytest.raises(FingerprintError, match=r"missing\.py"):
        fingerprint("workflow/missing.py", root=root)
    with pytest.raises(FingerprintError, match="no package tallsbi"):
        fingerprint(SCRIPT, root=root / "workflow")


def test_syntax_error_names_file_and_line(root):
    put(root, "src/tallsbi/a/two.py", "def double(x):\n    return 2 *\n")
    with pytest.raises(FingerprintError, match=r"two\.py, line 2"):
        fingerprint(SCRIPT, root=root)


def test_binary_source_is_named(root):
    (root / "src/tallsbi/a/two.py").write_bytes(b"\x00\xff\x00")
    with pytest.raises(FingerprintError, match=r"two\.py"):
        fingerprint(SCRIPT, root=root)


def test_relative_import_beyond_the_package_is_named(root):
    put(root, SCRIPT, "from ..a import one\n")
    with pytest.raises(FingerprintError, match=r"run\.py, line 1: relative import"):
        fingerprint(SCRIPT, root=root)


_expressions = st.recursive(
    st.sampled_from(["x", "y", "1", "1.5", "'s'", "None", "True", "f'{x!r:>{y}}'"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "*", "@", "and", "<"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(inner, max_size=3).map(lambda items: f"f({', '.join(items)})"),
        inner.map(lambda body: f"(lambda x, *, y=1: {body})"),
    ),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None)
@given(first=_expressions, second=_expressions)
def test_equal_exactly_if_the_syntax_trees_are(tmp_path_factory, first, second):
    root = tmp_path_factory.mktemp("pair")
    put(root, "src/tallsbi/__init__.py", "")
    digests = []
    for text in (first, second, f"# c\n{first}\n\n"):
        put(root, "src/tallsbi/m.py", f"z = {text}\n" if text[0] != "#" else text.replace("\n", "\nz = ", 1))
        digests.append(fingerprint("tallsbi.m", root=root))
    assert (digests[0] == digests[1]) == (ast.dump(ast.parse(first)) == ast.dump(ast.parse(second)))
    assert digests[0] == digests[2]
