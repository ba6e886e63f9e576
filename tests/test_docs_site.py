"""The documentation site holds every page, and builds without a warning."""

import subprocess
import sys

import pytest
from paths import ROOT

import tallsbi
from tallsbi.api import horizon, manners, pairs, refined, simulation, survival, training_range


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    result = subprocess.run([*command, str(ROOT / "docs"), str(folder)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    return folder


def test_every_page_is_in_the_site(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {str(page) for page in pages if not (site / page).is_file()} == set()


def test_the_reference_is_made_of_the_docstrings(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    for words in (
        "TallPosterior",
        "from_network",
        "batched=False",
        "Truncated",
        "squared signal coefficient",
    ):
        assert words.lower() in text.lower(), words


def test_the_reference_is_complete(site):
    """Every public name, every method of the posteriors, and every warning that can be caught."""
    text = (site / "api.html").read_text(encoding="utf-8")
    expected = {f"tallsbi.{name}" for name in tallsbi.__all__}
    for kind in (tallsbi.TallPosterior, tallsbi.RefinedPosterior):
        methods = {
            name for name, value in vars(kind).items() if callable(value) or isinstance(value, classmethod)
        }
        expected |= {f"tallsbi.{kind.__name__}.{name}" for name in methods if not name.startswith("_")}
    for module in (horizon, manners, pairs, refined, simulation, survival, training_range):
        for name, value in vars(module).items():
            if (
                isinstance(value, type)
                and issubclass(value, UserWarning)
                and value.__module__ == module.__name__
            ):
                expected.add(f"{module.__name__}.{name}")
    assert len(expected) > 30
    assert {name for name in expected if f'id="{name}"' not in text} == set()


def test_nothing_is_loaded_from_elsewhere(site):
    """Pages are read without network too."""
    page = (site / "tutorial.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    assert 'rel="stylesheet" href="http' not in page
