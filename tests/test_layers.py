"""Data flows in one direction: a module imports only from the layers below it."""

import grimp
import pytest

# From the bottom up. Packages on one level do not import each other.
LAYERS = [
    {"schedule", "linalg"},
    {"priors"},
    {"scores"},
    {"compose"},
    {"samplers"},
    {"algorithms"},
    {"posterior"},
    {"tasks", "training", "metrics", "jrnmm"},
    {"references"},
    {"toy", "benchmark", "neuro"},
    {"claims"},
    {"tables"},
    {"figures"},
    {"api", "report"},
]


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("tallsbi", include_external_packages=False)


def test_no_module_imports_from_a_layer_above(graph):
    rank = {name: level for level, names in enumerate(LAYERS) for name in names}
    wrong = []
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            upper, lower = (name.split(".")[1] if "." in name else "" for name in (module, imported))
            if upper in rank and lower in rank and upper != lower and rank[lower] >= rank[upper]:
                wrong.append(f"{module} imports {imported}")
    assert not wrong


def test_study_machinery_knows_nothing_of_the_science(graph):
    allowed = {"algorithms", "tasks"}  # names of what there is, to check a configuration
    for module in graph.modules:
        if module.startswith("tallsbi.study."):
            imported = {
                name.split(".")[1] for name in graph.find_modules_directly_imported_by(module) if "." in name
            }
            assert imported <= {"study", *allowed}, module


def test_every_package_has_its_layer(graph):
    packages = {module.split(".")[1] for module in graph.modules if "." in module}
    assert packages <= set().union(*LAYERS, {"study", "bench"})
