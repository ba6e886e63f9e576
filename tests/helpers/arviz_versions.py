"""Python programs under the last ArviZ before 1.0 and under a newer one, both really installed.

The version that the environment lacks comes from the package index, once, into pytest's cache (2 MB, a second or two).
The newer one asks for Python 3.12 in its metadata but runs under 3.11 as far as it is used here. Without an index the
test is skipped.
"""

import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

# All packages of a version are pinned: they must have the same minor version, and dependencies are not resolved.
VERSIONS = {
    "0.23.4": ("arviz==0.23.4",),
    "1.3.0": (
        "arviz==1.3.0",
        "arviz-base==1.3.1",
        "arviz-stats==1.3.3",
        "arviz-plots==1.3.2",
        "lazy_loader==0.5",
    ),
}
EACH_VERSION = pytest.mark.parametrize("arviz_version", list(VERSIONS))
_INSTALL_SECONDS = 20


def run_with(arviz_version: str, program: str, config: pytest.Config, *paths: Path) -> None:
    """Runs the program, which fails if it must; `paths` are searched for modules after ArviZ."""
    folder = () if version("arviz") == arviz_version else (_installed(arviz_version, config),)
    search = os.pathsep.join(map(str, (*folder, *paths, *filter(None, sys.path))))
    head = f"import arviz\nassert arviz.__version__ == {arviz_version!r}, arviz.__file__\n"
    command = [sys.executable, "-c", head + program]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": search}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _installed(arviz_version: str, config: pytest.Config) -> Path:
    cache = config.cache.mkdir("arviz")
    folder = cache / arviz_version
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        target = Path(temporary) / "packages"
        options = [
            "--quiet",
            "--no-deps",
            "--no-compile",
            "--ignore-requires-python",
            "--retries=0",
            "--timeout=5",
        ]
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            *options,
            f"--target={target}",
            *VERSIONS[arviz_version],
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            reason = str(getattr(error, "stderr", None) or error).strip().splitlines()[-1]
            pytest.skip(f"ArviZ {arviz_version} is not installed and could not be fetched: {reason}")
        try:
            target.rename(folder)
        except OSError:  # another process was faster
            assert folder.exists()
    return folder
