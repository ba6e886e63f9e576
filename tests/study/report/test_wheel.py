"""The installed package has the templates of the report page."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_wheel_holds_the_templates(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    templates = {path.name for path in (ROOT / "src/tallsbi/study/report/templates").iterdir()}
    assert {"index.html.j2", "style.css", "page.js"} <= templates
    assert {f"tallsbi/study/report/templates/{name}" for name in templates} <= held
