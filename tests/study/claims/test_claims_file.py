"""The file of claims: complete, checked, and about data that the workflow makes."""

import copy

import pytest
import yaml
from paths import ROOT

from tallsbi.study.claims.files import ClaimsError, files_of, load
from tallsbi.study.claims.spec import SCHEMA, check, read, single_tests
from tallsbi.study.claims.views import SOURCES
from tallsbi.study.columns.catalogue import table_of

FILE = ROOT / "workflow/resources/claims"
SCHEMA_TEXT = yaml.safe_load((ROOT / SCHEMA).read_text())


@pytest.fixture(scope="module")
def content():
    return load(FILE)


@pytest.fixture(scope="module")
def claims():
    return read(FILE, ROOT / SCHEMA)


def test_all_52_claims_are_there_in_order(claims):
    assert [claim.id for claim in claims] == [f"C{i:02d}" for i in range(1, 53)]
    assert len({claim.claim for claim in claims}) == 52


def test_every_source_is_a_tidy_table_and_handed_to_the_ledger():
    data = yaml.safe_load((ROOT / "workflow/artifacts.yaml").read_text())["artifacts"]["claims"]["data"]
    paths = {name: entry["path"] if isinstance(entry, dict) else entry for name, entry in data.items()}
    assert paths.pop("other").startswith("results/{other_run}/")
    assert set(paths) == {source for sources, _ in SOURCES.values() for source in sources}
    assert all(table_of(path).name == path.removesuffix(".csv") for path in paths.values())


def test_every_view_is_used(claims):
    used = {test.data for claim in claims for test in single_tests(claim.test)}
    assert used == set(SOURCES)


def test_claims_of_the_gaussian_toy_and_of_sbibm_have_their_variants(claims):
    for claim in claims:
        switches = {variant.switch for variant in claim.variants}
        for test in single_tests(claim.test):
            if test.data == "toy" and test.where.get("problem") != "mixture":
                assert "toy_prior" in switches, claim.id
            if test.data in ("sbibm", "either_bounds", "guidance", "partial"):
                assert "exclude_sets" in switches, claim.id
            assert (test.data == "either_bounds") <= ("uniform_bounds" in switches), claim.id


def test_equalities_have_a_margin(claims):
    """The schema has no `equal`; a claim of equality says how far apart equal things may be."""
    about = [
        test.expect["about"]
        for claim in claims
        for test in single_tests(claim.test)
        if isinstance(test.expect, dict) and "about" in test.expect
    ]
    assert len(about) > 5
    assert max(about) <= 0.5


def broken(content, change):
    edited = copy.deepcopy(content)
    change(edited)
    return "\n".join(check(edited, SCHEMA_TEXT))


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        (lambda c: c["claims"][0]["test"].update(kind="compere"), ["C01.test.kind", "compere"]),
        (lambda c: c["claims"][0]["test"].update(valu="x"), ["C01.test", "valu"]),
        (lambda c: c["claims"][2]["test"]["of"][0].update(expect="lesss"), ["C03.test.of.0.expect", "lesss"]),
        (lambda c: c["claims"][0].pop("printed"), ["C01", "printed"]),
        (lambda c: c["claims"][0]["test"].update(data="toys"), ["C01.test.data", "toys", "timing"]),
        (
            lambda c: c["claims"][7].update(variants=["priors"]),
            ["C08.variants", "priors", "prior, sets, bounds"],
        ),
        (lambda c: c["claims"].append(c["claims"][0]), ["C01", "2 times"]),
        (
            lambda c: c["claims"][0]["test"].update(where={"n": {"least": 3}}),
            ["C01.test.where.n", "least"],
        ),
        (lambda c: c.update(more=1), ["more"]),
    ],
)
def test_a_mistake_is_named(content, change, fragments):
    message = broken(content, change)
    for fragment in fragments:
        assert fragment in message
    assert broken(content, lambda c: None) == ""


def test_reading_reports_the_folder_and_all_mistakes(tmp_path, content):
    path = tmp_path / "some.yaml"
    edited = copy.deepcopy(content)
    edited["claims"][0]["id"], edited["claims"][1]["section"] = "A claim", 4
    path.write_text(yaml.safe_dump(edited))
    with pytest.raises(ClaimsError, match=rf"{tmp_path}: A claim\.id.*\n.*{tmp_path}: C02\.section"):
        read(tmp_path, ROOT / SCHEMA)
    path.write_text("claims: [")
    with pytest.raises(ClaimsError, match=r"some\.yaml: not YAML"):
        read(tmp_path, ROOT / SCHEMA)
    path.write_text("[claims]")
    with pytest.raises(ClaimsError, match=r"some\.yaml: holds list; write `variants:`, `claims:` or both"):
        read(tmp_path, ROOT / SCHEMA)
    path.unlink()
    with pytest.raises(ClaimsError, match=r"no file \*\.yaml"):
        read(tmp_path, ROOT / SCHEMA)


def test_files_are_one_whatever_their_names_and_no_variant_is_there_twice(tmp_path, content):
    assert len(files_of(FILE)) > 1
    for number, file in enumerate(reversed(files_of(FILE))):
        (tmp_path / f"{number}.yaml").write_text(file.read_text())
    assert load(tmp_path) == content
    (tmp_path / "more.yaml").write_text("variants: {sets: {}}")
    with pytest.raises(ClaimsError, match=r"variants\.sets is in another file already"):
        load(tmp_path)
