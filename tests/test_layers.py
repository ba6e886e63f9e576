"""Three layers and one law: a module imports only from the layers, and the packages, below it.

method   the mathematics, the training, the metrics and the library; imports nothing of the other two
runner   Snakemake's side; of the method it imports only random streams, storage and progress
study    the paper; imports both
"""

import re

import grimp
import pytest
from paths import ROOT

SOURCE = ROOT / "src" / "tallsbi"
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
    {"summaries"},
    {"api"},
]
FOR_THE_RUNNER = {"random", "storage", "progress"}
STUDY = [
    {"settings", "columns"},
    {"tasks"},
    {"references"},
    {"stages", "parts"},
    {"analysis"},
    {"claims"},
    {"tables"},
    {"figures"},
    {"posteriors"},
    {"make_artifact"},
    {"artifact_cells"},
    {"artifacts", "config_rules"},
    {"report"},
    {"project"},
    {"machine"},
    {"__main__"},
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


def package_of(module, depth=0):
    parts = module.split(".")
    return parts[depth] if len(parts) > depth else None


def test_the_method_imports_only_what_is_below(imports):
    method = set().union(*METHOD)
    pairs = [pair for pair in imports if package_of(pair[0]) in method]
    assert [f"{a} imports {b}" for a, b in pairs if package_of(b) not in method] == []
    assert upward([((a, package_of(a)), (b, package_of(b))) for a, b in pairs], METHOD) == []


def test_the_runner_imports_nothing_of_the_science(imports):
    allowed = FOR_THE_RUNNER | {"runner"}
    wrong = [
        f"{a} imports {b}" for a, b in imports if package_of(a) == "runner" and package_of(b) not in allowed
    ]
    assert wrong == []


def test_the_study_imports_only_what_is_below(imports):
    pairs = [
        ((a, package_of(a, 1)), (b, package_of(b, 1)))
        for a, b in imports
        if package_of(a) == package_of(b) == "study" and package_of(a, 1) and package_of(b, 1)
    ]
    assert upward(pairs, STUDY) == []


def packages_in(folder):
    return {
        path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }


def test_every_package_has_its_layer():
    assert packages_in(SOURCE) - {"__init__"} == set().union(*METHOD, {"runner", "study"})
    assert packages_in(SOURCE / "study") - {"__init__"} == set().union(*STUDY)


def rows_of_the_map(title):
    """The names in the first column of a table in docs/architecture.md, row by row."""
    table = (
        (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split(f"### {title}")[1].split("\n#")[0]
    )
    return [
        set(re.findall(r"`(\w+)`", line.split("|")[1]))
        for line in table.splitlines()
        if line.startswith("| `")
    ]


@pytest.mark.parametrize(("title", "levels"), [("The method", METHOD), ("The study", STUDY)])
def test_the_map_shows_the_packages_in_the_order_of_the_layers(title, levels):
    assert rows_of_the_map(title) == levels


def test_the_map_names_every_module_of_the_runner():
    assert set().union(*rows_of_the_map("The runner")) == packages_in(SOURCE / "runner") - {"__init__"}


def test_every_file_on_the_walk_exists():
    walk = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("## The walk of one datum")[1]
    files = re.findall(r"`((?:src|workflow)/[\w/.]+)`", walk)
    assert len(files) > 20
    assert [name for name in files if not (ROOT / name).exists()] == []
