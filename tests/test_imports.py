"""What a job's code consists of: no package pulls in its modules, and a training knows nothing of sampling."""

import ast
import subprocess
import sys

import pytest
from paths import ROOT

import tallsbi
from tallsbi.runner.fingerprint import closure

PACKAGE = ROOT / "src" / "tallsbi"


@pytest.mark.parametrize(
    "package",
    sorted(path.parent.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("__init__.py")),
    ids=str,
)
def test_no_package_imports_its_modules(package):
    names = [".".join(package.parts[: depth + 1]) for depth in range(len(package.parts))]
    assert closure(names[-1], root=ROOT) == sorted(names)


def test_the_names_of_the_library_are_imported_from_their_modules_inside():
    """A name that the package finds on first use would be missing from the code of a job."""
    lazy = [
        f"{path}: {alias.name}"
        for path in [*PACKAGE.rglob("*.py"), *(ROOT / "workflow").rglob("*.py")]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "tallsbi"
        for alias in node.names
        if alias.name in tallsbi.__all__
    ]
    assert lazy == []


@pytest.mark.parametrize(
    "entry",
    [
        *("tallsbi.training.loop", "tallsbi.training.groups", "tallsbi.training.select"),
        *("workflow/scripts/train.py", "workflow/scripts/train_partial.py"),
    ],
)
def test_a_training_contains_no_sampling_and_no_toy(entry):
    """An edit of a composition, a sampler or a metric retrains nothing."""
    reached = {name.removeprefix("tallsbi.") for name in closure(entry, root=ROOT)}
    packages = {name.split(".")[0] for name in reached}
    assert packages.isdisjoint({"compose", "samplers", "algorithms", "metrics", "api", "linalg"})
    networks = {"network", "network_file", "normaliser", "context", "groups", "group_network"}
    assert {name for name in reached if name.startswith("scores.")} <= {f"scores.{name}" for name in networks}
    assert "study.tasks.toy" not in reached


def test_the_library_is_found_on_first_use():
    assert sorted(tallsbi.__all__) == sorted(tallsbi._MODULES)
    assert set(tallsbi.__all__) <= set(dir(tallsbi))
    for name, module in tallsbi._MODULES.items():
        assert getattr(tallsbi, name).__module__ == module
    with pytest.raises(AttributeError, match="TallPrior"):
        _ = tallsbi.TallPrior
    code = "import sys, tallsbi; assert not {'torch', 'numpy'} & set(sys.modules); from tallsbi import TallPosterior"
    subprocess.run([sys.executable, "-c", code], check=True)
