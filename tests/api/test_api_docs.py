"""The code of the guides and of the README runs as it stands, block after block; notebooks are the same pages."""

import importlib.util
import re
import warnings

import nbformat
import pytest
import torch
from paths import ROOT

# Sizes of the long trainings of pages whose numbers were measured; here only the code matters.
SHORTER_TRAININGS = {
    "own-simulator.md": {r"simulations=4000, epochs=120": "simulations=200, epochs=2", r", 2000\)": ", 50)"}
}


def blocks(path, heading=None):
    text = (ROOT / path).read_text(encoding="utf-8")
    if heading is not None:
        text = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "docs/notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("notebooks")
    module.main(folder)
    return folder


def cells(path, kind):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("tutorial.ipynb", None),
        ("docs/own-simulator.md", None),
        ("docs/own-network.md", None),
        ("docs/priors.md", None),
        ("README.md", "The library"),
    ],
)
def test_the_code_runs(path, heading, notebooks, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    code = cells(notebooks / path, "code") if path.endswith(".ipynb") else blocks(path, heading)
    names = {"__name__": "guide"}
    assert code
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for number, block in enumerate(code):
            for large, small in SHORTER_TRAININGS.get(path.removeprefix("docs/"), {}).items():
                block = re.sub(large, small, block)
            exec(compile(block, f"{path}, block {number + 1}", "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", ["tutorial", "own-simulator"])
def test_a_notebook_holds_all_of_its_page(name, notebooks):
    page = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    assert cells(notebooks / f"{name}.ipynb", "code") == [b.rstrip("\n") for b in blocks(f"docs/{name}.md")]
    text = "".join(cells(notebooks / f"{name}.ipynb", "markdown"))
    assert text.startswith("# ")
    assert re.findall("^#+ .*", page, re.MULTILINE)[1] in text
