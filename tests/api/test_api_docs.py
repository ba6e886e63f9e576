"""The code of the tutorial and of the README runs as it stands, block after block."""

import re
import warnings

import pytest
import torch
from paths import ROOT


def blocks(path, heading=None):
    text = (ROOT / path).read_text(encoding="utf-8")
    if heading is not None:
        text = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("path", "heading"),
    [("docs/tutorial.md", None), ("docs/own-network.md", None), ("README.md", "Use the library")],
)
def test_the_code_runs(path, heading, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, names = blocks(path, heading), {}
    assert code
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for number, block in enumerate(code):
            exec(compile(block, f"{path}, block {number + 1}", "exec"), names)
    assert capsys.readouterr().out
