"""What the report page does in a real browser: alone and offline, by keyboard, without scripts."""

from __future__ import annotations

import shutil
from itertools import pairwise

import pytest
from run_data import CLAIMS, FIGURES, KEY_FIGURES

DECIDED = ["claim-C01", "claim-C02", "claim-C03", "claim-C05", "claim-C07"]


def shown_claims(page) -> list[str]:
    return [item.get_attribute("id") for item in page.locator(".claim").all() if item.is_visible()]


def column(page, table: str, index: int) -> list[str]:
    return [row.locator("th, td").nth(index).inner_text() for row in page.locator(f"#{table} tbody tr").all()]


def test_opens_alone_and_offline_without_a_complaint(visit, page_file, tmp_path):
    alone = tmp_path / "alone.html"
    shutil.copyfile(page_file, alone)
    page = visit(alone)
    assert page.seen["console"] == page.seen["errors"] == page.seen["failed"] == []
    assert {url for url in page.seen["requests"] if not url.startswith("data:")} == {alone.as_uri()}


def test_all_pictures_load(visit):
    page = visit()
    sizes = page.evaluate(
        "[...document.querySelectorAll('main img')].map((i) => [i.complete, i.naturalWidth, i.width])"
    )
    assert len(sizes) == len(FIGURES) + KEY_FIGURES
    assert all(complete and natural > 0 and width > 0 for complete, natural, width in sizes)


def test_claims_are_filtered_by_verdict_section_and_words(visit):
    page = visit()
    assert shown_claims(page) == DECIDED
    page.get_by_label("does not hold").uncheck()
    assert shown_claims(page) == ["claim-C01", "claim-C02", "claim-C05", "claim-C04", "claim-C06"]
    assert page.get_by_role("status").inner_text() == f"5 of {CLAIMS} claims"
    page.get_by_label("Section").select_option("4.1")
    assert shown_claims(page) == ["claim-C01", "claim-C02"]
    page.get_by_label("Words").fill("gauss LANGEVIN")
    assert shown_claims(page) == ["claim-C02"]
    page.get_by_label("Words").fill("no such words")
    assert shown_claims(page) == []
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function(f"document.querySelector('#claim-count').textContent === '{CLAIMS} claims'")
    assert len(shown_claims(page)) == CLAIMS


def test_undecided_claims_are_folded_until_asked_for(visit):
    page = visit()
    summary = page.get_by_text("2 claims are undecided at this scale")
    assert summary.is_visible()
    assert "claim-C04" not in shown_claims(page)
    summary.click()
    assert {"claim-C04", "claim-C06"} <= set(shown_claims(page))
    page.get_by_label("undecided at this scale").uncheck()
    assert not summary.is_visible()


def test_claims_are_filtered_by_keyboard(visit):
    page = visit()
    page.get_by_label("holds", exact=False).first.focus()
    page.keyboard.press("Space")
    assert len(shown_claims(page)) == CLAIMS - 3
    assert page.locator("#undecided").get_attribute("open") is not None


def test_sorting_by_keyboard(visit):
    page = visit()
    table = "toy_gaussian_sw_time"
    page.locator(f"#{table} .scroll").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "T"
    page.keyboard.press("Enter")
    assert column(page, table, 1) == ["50", "150", "400", "1000"]
    page.keyboard.press("Space")
    assert column(page, table, 1) == ["1000", "400", "150", "50"]
    orders = [header.get_attribute("aria-sort") for header in page.locator(f"#{table} thead th").all()]
    assert orders == ["none", "descending", "none", "none", "none"]


@pytest.mark.parametrize(
    ("index", "up", "down"),
    [
        (0, ["DET_GEF", "GAUSS", "JAC", "LANGEVIN"], ["LANGEVIN", "JAC", "GAUSS", "DET_GEF"]),
        (
            2,
            ["1.0e-3 ± 1.0e-4", "0.45 ± 0.01", "3.10 ± 0.10", "12.30 ± 0.20"],
            ["12.30 ± 0.20", "3.10 ± 0.10", "0.45 ± 0.01", "1.0e-3 ± 1.0e-4"],
        ),
        # Cells without a number stay below, whichever way.
        (3, ["0.09 ± 0.01", "0.17 ± 0.02", "lost", "–"], ["0.17 ± 0.02", "0.09 ± 0.01", "lost", "–"]),
    ],
)
def test_sorting_is_by_number_where_there_is_one(visit, index, up, down):
    page = visit()
    button = page.locator("#toy_gaussian_sw_time thead button").nth(index)
    button.click()
    assert column(page, "toy_gaussian_sw_time", index) == up
    button.click()
    assert column(page, "toy_gaussian_sw_time", index) == down


def test_zoom_opens_and_closes_by_keyboard(visit):
    page = visit()
    button = page.locator("#toy_sw_vs_n button.picture")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    assert dialog.is_visible()
    assert dialog.get_by_role("heading").inner_text() == "Error against the number of observations"
    assert dialog.locator("img").evaluate("(image) => image.naturalWidth") == 600
    assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
    fits = "(area) => area.scrollWidth <= area.clientWidth && area.scrollHeight <= area.clientHeight"
    assert dialog.locator(".zoom-area").evaluate(fits)
    size = dialog.get_by_role("button", name="Full size")
    size.press("Enter")
    assert size.get_attribute("aria-pressed") == "true"
    assert dialog.locator("img").evaluate("(image) => image.width") == 600
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert button.evaluate("(node) => node === document.activeElement")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Close").press("Enter")
    assert not dialog.is_visible()


def test_numbers_have_their_units_beside_them(visit):
    page = visit()
    numbers = page.locator("#claim-C02 .pair dd").nth(1).inner_text().split("\n")
    assert [word.strip() for word in numbers if word.strip()] == [
        "0.62",
        "ratio, time",
        "0.1",
        "from 5 values, one per round",
    ]


def test_landmarks_headings_and_names(visit):
    page = visit()
    for role in ("banner", "navigation", "main", "contentinfo", "search"):
        assert page.get_by_role(role).count() == 1, role
    levels = page.evaluate(
        "[...document.querySelectorAll('main :is(h1,h2,h3,h4,h5,h6)')].map((h) => +h.tagName[1])"
    )
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.evaluate("[...document.querySelectorAll('main img')].every((image) => image.alt.length > 12)")
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every((table) => table.caption?.textContent)"
    )
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
    targets = page.evaluate("[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))")
    assert set(targets) <= set(ids)


def test_without_scripts_everything_is_there(visit):
    page = visit(java_script_enabled=False)
    assert shown_claims(page) == DECIDED
    assert page.locator(".claim").count() == CLAIMS
    assert not page.locator("#claim-filters").is_visible()
    assert page.locator("#toy_gaussian_sw_time tbody tr").count() == 4
