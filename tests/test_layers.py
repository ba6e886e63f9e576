"""Three layers and one law: a module imports only from the layers, and the packages, below it.

method   the mathematics, the training, the metrics and the library; imports nothing of the other two
runner   Snakemake's side; of the method it imports only random streams, storage and progress
study    the paper; imports both
"""

from pathlib import Path

import grimp
import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tallsbi"
# From the bottom up. Packages on one level do not import each other.
METHOD = [
    {"shapes"},
    {"schedule", "linalg", "random", "storage", "progress"},
    {"priors"},
    {"scores"},
    {"compose"},
    {"samplers"},
    {"algorithms"},
    {"training", "metrics"},
    {"api"},
]
FOR_THE_RUNNER = {"random", "storage", "progress"}
STUDY = [
    {"tasks", "columns"},
    {"references"},
    {"stages"},
    {"analysis"},
    {"claims"},
    {"tables"},
    {"figures"},
    {"report"},
]


@pytest.fixture(scope="module")
def imports():
    """(importer, imported) for every import inside the package, dotted names without "tallsbi."."""
    graph = grimp.build_graph("tallsbi", include_external_packages=False)
    return [
        (module.removeprefix("tallsbi."), imported.removeprefix("tallsbi."))
        for module in sorted(graph.modules)
        for imported in sorted(graph.find_modules_directly_imported_by(module))
        if imported != "tallsbi"
    ]


def upward(pairs, levels):
    """The imports that do not go down from one level to a lower one."""
    rank = {name: level for level, names in enumerate(levels) for name in names}
    return [
        f"{importer} imports {imported}"
        for (importer, upper), (imported, lower) in pairs
        if upper != lower and rank[lower] >= rank[upper]
    ]


def room(module, depth=0):
    parts = module.split(".")
    return parts[depth] if len(parts) > depth else None


def test_the_method_imports_only_what_is_below(imports):
    method = set().union(*METHOD)
    mine = [pair for pair in imports if room(pair[0]) in method]
    assert [f"{a} imports {b}" for a, b in mine if room(b) not in method] == []
    assert upward([((a, room(a)), (b, room(b))) for a, b in mine], METHOD) == []


def test_the_runner_imports_nothing_of_the_science(imports):
    allowed = FOR_THE_RUNNER | {"runner"}
    wrong = [f"{a} imports {b}" for a, b in imports if room(a) == "runner" and room(b) not in allowed]
    assert wrong == []


def test_the_study_imports_only_what_is_below(imports):
    rooms = set().union(*STUDY)
    pairs = [
        ((a, room(a, 1)), (b, room(b, 1)))
        for a, b in imports
        if room(a) == room(b) == "study" and room(a, 1) in rooms and room(b, 1) in rooms
    ]
    assert upward(pairs, STUDY) == []


def test_every_package_has_its_layer():
    def held(folder):
        return {
            path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
        }

    assert held(SOURCE) - {"__init__"} == set().union(*METHOD, {"runner", "study"})
