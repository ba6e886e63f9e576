"""The wheel holds the package, all of it, and nothing else of the repository."""

import subprocess
import sys
from zipfile import ZipFile

import pytest
from paths import ROOT


@pytest.fixture(scope="module")
def held(tmp_path_factory) -> set[str]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return set(ZipFile(wheel).namelist())


def test_benchmarks_tests_and_workflow_stay_in_the_repository(held):
    assert {name.split("/")[0].split("-")[0] for name in held} == {"tallsbi"}


def test_library_and_types_are_in_it(held):
    assert {"tallsbi/api/__init__.py", "tallsbi/py.typed"} <= held


def test_templates_of_the_report_are_in_it(held):
    templates = {path.name for path in (ROOT / "src/tallsbi/study/report/templates").iterdir()}
    assert {"index.html.j2", "style.css", "page.js"} <= templates
    assert {f"tallsbi/study/report/templates/{name}" for name in templates} <= held
