"""docs/method.md leads from an equation of the paper to its file, and the file names the equation."""

import ast
import re

import pytest
from paths import ROOT

ROWS = re.findall(
    r"^\| (\(.+?\)) \|.*?\[.*?\]\(\.\./(.*?)\)",
    (ROOT / "docs/method.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize(("equations", "path"), ROWS)
def test_the_file_names_its_equations(equations, path):
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    for equation in re.findall(r"\(\d+\)", equations):
        assert equation in docstring


def test_every_equation_of_the_method_has_its_file():
    """(1) is the starting point, (14) and (15) are steps of a derivation: nothing computes them."""
    listed = {int(number) for equations, _ in ROWS for number in re.findall(r"\d+", equations)}
    assert listed == set(range(2, 17)) - {14, 15}
