"""The gallery holds small pictures, whole tables and the facts of the run, and nothing of an older one."""

import io
import re

import numpy as np
import pytest
from PIL import Image
from run_data import FIGURES, ROOT, make_run

from tallsbi.storage.files import DataError
from tallsbi.study.report import gallery, record
from tallsbi.study.report.gather import read_page


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = make_run(tmp_path_factory.mktemp("run"))
    record.write(run.record, run.gather().facts, run.sources.run, run.sources.run / record.RECORD_PATH)
    return run


@pytest.fixture
def page(run):
    return read_page(ROOT, run.sources.run)


def test_page_is_read_back_with_the_facts_of_its_time(run, monkeypatch):
    before = run.gather()
    monkeypatch.setattr("tallsbi.study.report.records.commit", lambda root: "a later commit")
    after = read_page(ROOT, run.sources.run)
    assert after.facts == before.facts
    assert after.parts == before.parts
    assert after.ledger == before.ledger


def test_run_that_is_not_finished_is_named(tmp_path, capsys):
    with pytest.raises(DataError, match=r"run\.json: finish the run first"):
        read_page(ROOT, tmp_path)
    (tmp_path / "config.yaml").write_text("{scale: smoke, protocol: published}\n")
    assert gallery.main([], tmp_path) == 1
    assert "results/laptop/report/run.json" in capsys.readouterr().err


def test_gallery_holds_everything_and_its_links_lead_somewhere(page, tmp_path):
    paths = gallery.write_gallery(page, tmp_path)
    assert {path.stem for path in tmp_path.glob("figures/*.png")} == set(FIGURES)
    assert {path.stem for path in tmp_path.glob("tables/*.md")} == {
        "toy_gaussian_sw_time",
        "metric_summary",
        "reference_certificates",
    }
    for path in paths:
        if path.suffix == ".md":
            for target in re.findall(r"(?<!\\)\]\(([^)]+)\)", path.read_text()):
                assert (path.parent / target).is_file(), f"{path.name}: {target}"
    entry = (tmp_path / "README.md").read_text()
    for name, value in page.facts:
        assert f"| {name} | {value} |" in entry
    assert "**3** hold, **2** do not hold, **2** are undecided at this scale" in entry


def test_ledger_has_a_row_per_claim_and_variant_and_bars_do_not_break_it(page, tmp_path):
    gallery.write_gallery(page, tmp_path)
    rows = [line for line in (tmp_path / "claims.md").read_text().splitlines() if line.startswith("| C")]
    assert len(rows) == len(page.ledger.claims) + 1
    assert {row.count("|") for row in rows} == {10}
    assert "p(theta &#124; x)" in rows[0]
    assert "&lt;b>every&lt;/b>" in "".join(rows)


def test_second_gallery_is_the_same_and_old_things_go(page, tmp_path):
    first = {path: path.read_bytes() for path in gallery.write_gallery(page, tmp_path)}
    (tmp_path / "figures" / "old.png").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("mine")
    second = {path: path.read_bytes() for path in gallery.write_gallery(page, tmp_path)}
    assert first == second
    assert not (tmp_path / "figures" / "old.png").exists()
    assert (tmp_path / "notes.txt").exists()


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def test_noise_is_made_small_enough():
    noise = np.random.default_rng(0).integers(0, 256, (900, 700, 3), dtype=np.uint8)
    small = gallery.small_png(png(noise))
    assert len(small) <= gallery.MAX_PICTURE_BYTES
    with Image.open(io.BytesIO(small)) as picture:
        assert picture.width / picture.height == pytest.approx(700 / 900, rel=0.02)


def test_few_colours_are_kept_exactly():
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:20] = (31, 119, 180)
    pixels[:, 30:] = (255, 255, 255)
    with Image.open(io.BytesIO(gallery.small_png(png(pixels)))) as picture:
        assert np.array_equal(np.asarray(picture.convert("RGB")), pixels)


def test_transparent_becomes_white():
    pixels = np.zeros((10, 10, 4), np.uint8)
    with Image.open(io.BytesIO(gallery.small_png(png(pixels)))) as picture:
        assert np.asarray(picture.convert("RGB")).min() == 255


def test_impossible_limit_is_an_error():
    with pytest.raises(ValueError, match="limit = 10"):
        gallery.small_png(png(np.zeros((4, 4, 3), np.uint8)), limit=10)
