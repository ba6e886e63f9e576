"""The pins, the conda file and pyproject.toml agree, and the installed packages agree with them."""

import re
import shutil
import subprocess
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from paths import ROOT

PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.!]+)")
# pip is the installer, not something it installs.
INSTALLER = {"pip"}


def entries(text: str) -> list[str]:
    """The lines of a requirements file without comments, blank lines and indentation."""
    stripped = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line]


def parse_pins(lines: list[str]) -> dict[str, Version]:
    """Name to version; raises on anything but `name==version`, and on a name given twice."""
    pins: dict[str, Version] = {}
    for line in lines:
        match = PIN.fullmatch(line)
        if match is None:
            raise ValueError(f"not a plain pin: {line!r}")
        name = canonicalize_name(match["name"])
        if name in pins:
            raise ValueError(f"pinned twice: {name}")
        pins[name] = Version(match["version"])
    return pins


def violations(requirements: list[Requirement], pins: dict[str, Version]) -> list[str]:
    """The requirements that apply on this machine and that the pins do not meet."""
    problems = []
    for requirement in requirements:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        pinned = pins.get(canonicalize_name(requirement.name))
        if pinned is None:
            problems.append(f"{requirement} is not pinned")
        elif not requirement.specifier.contains(pinned, prereleases=True):
            problems.append(f"{requirement} is not met by {pinned}")
    return problems


@pytest.fixture(scope="module")
def pins() -> dict[str, Version]:
    return parse_pins(entries((ROOT / "envs/requirements.lock").read_text()))


@pytest.fixture(scope="module")
def sbibm_pins() -> dict[str, Version]:
    return parse_pins(entries((ROOT / "envs/sbibm.lock").read_text()))


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def declared(project: dict) -> list[Requirement]:
    lists = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    requirements = [Requirement(text) for names in lists for text in names]
    return [requirement for requirement in requirements if requirement.name != "tallsbi"]  # extras of its own


@pytest.mark.parametrize(
    "line",
    [
        "torch",
        "torch>=2.4",
        "torch==2.13.0+cpu",
        "torch==2.13.*",
        "-e .",
        "--index-url https://example.org/simple",
        "torch @ file:///somewhere/torch.whl",
    ],
)
def test_parser_refuses_what_is_not_a_plain_pin(line):
    with pytest.raises(ValueError, match="not a plain pin"):
        parse_pins([line])


def test_parser_refuses_a_name_pinned_twice():
    with pytest.raises(ValueError, match="pinned twice"):
        parse_pins(["a-b==1", "A_b==2"])


def test_violations_are_found():
    wanted = [
        Requirement(text) for text in ("a>=2", "b", "c>=1", "d; python_version < '3'", "e; extra == 'x'")
    ]
    unmet = violations(wanted, {"a": Version("1.0"), "c": Version("1.0")})
    assert unmet == [
        "a>=2 is not met by 1.0",
        "b is not pinned",
    ]


@pytest.mark.parametrize("name", ["requirements.lock", "sbibm.lock", "constraints.txt", "study.yaml"])
def test_no_addresses_or_machine_paths(name):
    text = (ROOT / "envs" / name).read_text()
    assert not re.search(r"://|@ |--(extra-)?index-url|--find-links|--trusted-host|(?<![\w.])/\w+/", text)


def test_every_declared_dependency_is_pinned(project, pins):
    assert violations(declared(project), pins) == []


def test_constraints_hold_in_the_lock(pins):
    constraints = parse_pins(entries((ROOT / "envs/constraints.txt").read_text()))
    assert "torch" in constraints
    assert {name: pins.get(name) for name in constraints} == constraints


def test_sbibm_is_pinned_apart(project, pins, sbibm_pins):
    assert set(sbibm_pins) == {"sbibm"}
    assert "sbibm" not in pins
    assert "sbibm" not in {canonicalize_name(requirement.name) for requirement in declared(project)}


def test_conda_file_has_the_same_pins(project, pins):
    dependencies = yaml.safe_load((ROOT / "envs/study.yaml").read_text())["dependencies"]
    (pip_section,) = [entry["pip"] for entry in dependencies if isinstance(entry, dict)]
    assert parse_pins(pip_section) == pins
    (python,) = [entry for entry in dependencies if isinstance(entry, str) and entry.startswith("python=")]
    assert Requirement(f"python{project['project']['requires-python']}").specifier.contains(
        python.removeprefix("python=")
    )


def test_installed_versions_are_the_pinned_ones(pins, sbibm_pins):
    wrong = {}
    for name, version in (pins | sbibm_pins).items():
        try:
            installed = Version(metadata.version(name)).public
        except metadata.PackageNotFoundError:
            installed = None
        if installed != version.public:
            wrong[name] = f"{installed} instead of {version}"
    assert wrong == {}


def test_pins_meet_the_requirements_of_the_pinned_packages(pins):
    problems = {}
    for name in pins:
        requirements = [Requirement(text) for text in metadata.requires(name) or []]
        requirements = [r for r in requirements if canonicalize_name(r.name) not in INSTALLER]
        # What an accelerator build of torch adds is its own affair: pip resolves it per machine.
        requirements = [r for r in requirements if not re.match(r"nvidia-|cuda-|triton", r.name)]
        if unmet := violations(requirements, pins):
            problems[name] = unmet
    assert problems == {}


def test_an_environment_is_not_built_through_a_link(tmp_path):
    """`python -m venv --clear` would empty the folder that the link points to."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "envs", tmp_path / "envs")
    precious = tmp_path / "elsewhere" / "precious"
    precious.parent.mkdir()
    precious.touch()
    (tmp_path / ".venv").symlink_to(precious.parent)
    done = subprocess.run(["make", "env"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "rm .venv" in done.stderr
    assert precious.is_file()
