"""The wheel holds the package and nothing else of the repository, and works with the packages it asks for alone."""

import ast
import subprocess
import sys
import tomllib
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from paths import ROOT
from trove_classifiers import classifiers

import tallsbi

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Needed without being imported: programs, plugins and engines of others, and what sbibm's tasks import.
USED_OTHERWISE = {
    *("snakemake", "snakemake-executor-plugin-slurm", "tabulate", "h5netcdf"),
    *("autograd", "future", "pyro-api", "pyro-ppl"),
}
PINNED_APART = {"sbibm"}  # installed on its own


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel_files(wheel) -> set[str]:
    return set(ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def wheel_metadata(wheel) -> str:
    (name,) = [name for name in ZipFile(wheel).namelist() if name.endswith("/METADATA")]
    return ZipFile(wheel).read(name).decode()


def core_requirements(wheel_metadata):
    """What an installation without extras asks for."""
    return [r for r in Parser().parsestr(wheel_metadata).get_all("Requires-Dist") if "extra ==" not in r]


def needed(requirements, names=None):
    """The distributions that a list of requirements brings, all the way down."""
    names = set() if names is None else names
    for requirement in map(Requirement, requirements):
        name = canonicalize_name(requirement.name)
        if name in names or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        try:
            further = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # an accelerator's part of torch
        names.add(name)
        needed(further, names)
    return names


def test_the_metadata_pass_the_checks_of_the_index(wheel_metadata):
    Metadata.from_email(wheel_metadata, validate=True)
    fields = Parser().parsestr(wheel_metadata)
    assert set(fields.get_all("Classifier")) <= set(classifiers)
    assert fields["Version"] == tallsbi.__version__
    assert fields["Summary"]
    assert fields["Description-Content-Type"] == "text/markdown"
    assert fields.get_all("Project-URL")
    assert set(fields.get_all("Provides-Extra")) == {
        "arviz",
        "dev",
        "diagnose",
        "docs",
        "fast",
        "plot",
        "study",
    }


def test_the_wheel_alone_brings_few_packages(wheel_metadata):
    core = core_requirements(wheel_metadata)
    assert {canonicalize_name(Requirement(r).name) for r in core} == {
        *("torch", "numpy", "safetensors", "tqdm", "jaxtyping"),
    }
    besides = needed(core) - needed(["torch"])
    assert len(besides) <= 15
    assert besides.isdisjoint({"scipy", "pandas", "numba", "sbi", "scikit-learn", "xarray"})


def test_the_wheel_alone_is_small(wheel, wheel_metadata):
    """What an installation brings beside torch and numpy, without compiled bytecode."""
    core = core_requirements(wheel_metadata)
    sizes = {
        name: sum(file.size or 0 for file in metadata.files(name) or () if file.suffix != ".pyc")
        for name in needed(core) - needed(["torch"]) - {"numpy"}
    }
    sizes["tallsbi"] = sum(file.file_size for file in ZipFile(wheel).infolist())
    assert sum(sizes.values()) < 6e6, sizes
    assert wheel.stat().st_size < 1e6


CODE = """
import sys
sys.path.insert(0, {wheel!r})

class Blocker:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name.partition(".")[0] in {blocked!r} else find(name)

import torch, tallsbi
assert {wheel!r} in tallsbi.__file__
from tallsbi import TallPosterior
prior = {{"a": torch.distributions.Gamma(3.0, 1.0), "b": torch.distributions.Normal(0.0, 1.0)}}
simulator = lambda theta: theta + 0.5 * torch.randn_like(theta)
posterior = TallPosterior.fit(prior, simulator, simulations=300, epochs=2, batch_size=64, hidden=(16,))
x = simulator(torch.tensor([[1.0, -1.0]]).repeat(5, 1))
for method in ("GAUSS_PD", "JAC", "LANGEVIN"):
    assert posterior.sample(x, 100, method, settings={{"steps": 5}}).shape == (100, 2)
posterior.save({folder!r})
again = TallPosterior.load({folder!r})
assert torch.equal(again.sample(x, 50), posterior.sample(x, 50))
assert len(posterior.history["val_loss"]) == 2
for call, extra in (
    (lambda: posterior.diagnose(simulator, 3), "diagnose"),
    (lambda: posterior.inference_data(x, 10), "arviz"),
    (lambda: posterior.losses, "pandas"),
):
    try:
        call()
    except ImportError as error:
        assert extra in str(error), error
    else:
        raise AssertionError(extra)
print("done")
"""


def test_the_library_works_with_its_own_dependencies_alone(wheel, wheel_metadata, tmp_path):
    """Every other installed package is hidden from the import system."""
    ZipFile(wheel).extractall(tmp_path / "wheel")
    core = core_requirements(wheel_metadata)
    allowed = needed(core)
    blocked = {
        module
        for module, owners in metadata.packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & allowed
        and module not in sys.stdlib_module_names
        and module != "tallsbi"
    }
    assert {"scipy", "pandas", "sbi", "sklearn", "numba", "xarray", "arviz", "matplotlib"} <= blocked
    code = CODE.format(wheel=str(tmp_path / "wheel"), blocked=blocked, folder=str(tmp_path / "saved"))
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert result.stdout.strip().endswith("done"), result.stderr[-2000:]


def imported(folder):
    """Top-level names of what the files of a folder import, anywhere in them."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"tallsbi"}


def test_everything_imported_is_declared_and_nothing_unused_is():
    extras = PROJECT["optional-dependencies"]
    runtime = [
        *PROJECT["dependencies"],
        *(r for key in extras if key not in ("dev", "docs") for r in extras[key]),
    ]
    declared = {canonicalize_name(Requirement(r).name) for r in runtime} - {"tallsbi"}
    owners = metadata.packages_distributions()
    used = {canonicalize_name(owners[name][0]) for name in imported(ROOT / "src") if name not in PINNED_APART}
    assert used - declared == set()
    assert declared - used == USED_OTHERWISE - used


def test_benchmarks_tests_and_workflow_stay_in_the_repository(wheel_files):
    assert {name.split("/")[0].split("-")[0] for name in wheel_files} == {
        "tallsbi",
        "snakemake_logger_plugin_tallsbi",
    }


def test_library_and_types_are_in_it(wheel_files):
    assert {"tallsbi/api/__init__.py", "tallsbi/py.typed"} <= wheel_files


def test_templates_of_the_report_are_in_it(wheel_files):
    templates = {path.name for path in (ROOT / "src/tallsbi/study/report/templates").iterdir()}
    assert {"index.html.j2", "style.css", "page.js"} <= templates
    assert {f"tallsbi/study/report/templates/{name}" for name in templates} <= wheel_files
