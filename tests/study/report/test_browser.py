"""The report page in a real browser: alone and offline, by keyboard, on a phone, on paper, in the dark."""

from __future__ import annotations

import shutil
from itertools import pairwise

import pytest
from run_data import CLAIMS, FIGURES, make_run

from tallsbi.storage.files import write_text
from tallsbi.study.report.render import to_html

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make env")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EXECUTABLE = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = pytest.mark.skipif(
    EXECUTABLE is None,
    reason=f"no browser in PATH (looked for {', '.join(BROWSERS)}): install Debian's chromium",
)

# Every element with text of its own, and the ratio of its colour to the colour behind it (WCAG 2).
CONTRAST = """() => {
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = parse(getComputedStyle(node).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const own = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
  return [...document.querySelectorAll("body *")]
    .filter((node) => own(node) && node.checkVisibility() && !["SCRIPT", "STYLE"].includes(node.tagName))
    .filter((node) => !node.closest("[aria-hidden=true]"))
    .map((node) => {
      const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.tagName, node.textContent.trim().slice(0, 40)];
    });
}"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    run = make_run(tmp_path_factory.mktemp("run"))
    write_text(to_html(run.gather()), run.sources.page)
    return run.sources.page


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        # The sandbox needs rights that containers and root do not have; the page is our own.
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, page_file):
    """Opens the page with the given settings of a browser context; closes it after the test."""
    contexts = []

    def opened(path=page_file, **settings):
        context = browser.new_context(offline=True, **settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.seen = {"console": [], "errors": [], "requests": [], "failed": []}
        page.on("console", lambda message: page.seen["console"].append(message.text))
        page.on("pageerror", lambda error: page.seen["errors"].append(str(error)))
        page.on("request", lambda request: page.seen["requests"].append(request.url))
        page.on("requestfailed", lambda request: page.seen["failed"].append(request.url))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


KEYS = 3  # the made-up run has figures in three parts
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
    assert len(sizes) == len(FIGURES) + KEYS
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


@pytest.mark.parametrize("width", [320, 390])
def test_phone_has_no_sideways_scroll(visit, width):
    page = visit(viewport={"width": width, "height": 844})
    for details in page.locator("main details").all():
        details.evaluate("(node) => { node.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # A wide table scrolls inside its frame, which the keyboard can reach.
    frame = page.locator("#metric_summary .scroll")
    assert frame.evaluate("(node) => node.scrollWidth > node.clientWidth && node.tabIndex === 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_is_readable(visit, scheme):
    page = visit(color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == (scheme == "dark")
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) > 100
    assert [entry for entry in ratios if entry[0] < 4.5] == []


def test_colour_scheme_can_be_chosen(visit):
    page = visit(color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    toggle = page.get_by_role("button", name="Colours")
    toggle.press("Enter")
    assert toggle.inner_text() == "Colours: light"
    assert page.evaluate(background) == light
    toggle.press("Enter")
    assert toggle.inner_text() == "Colours: dark"
    assert page.evaluate(background) != light
    page.reload()
    assert toggle.inner_text() == "Colours: dark"


def test_print_leaves_out_controls_and_opens_everything(visit):
    page = visit(color_scheme="dark", viewport={"width": 718, "height": 1000})  # A4 without its margins
    page.emulate_media(media="print", color_scheme="dark")
    for selector in ("nav", "#claim-filters", "#scheme", ".skip"):
        assert not page.locator(selector).first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("main details:not([open])").count() == 0
    assert page.locator("#pedagogical details p").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("main details[open]").count() == 0
    assert page.pdf(format="A4").startswith(b"%PDF")


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


def test_focus_is_seen(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") == 0
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate("""() => {
          const style = getComputedStyle(document.activeElement);
          const chip = document.activeElement.closest('.chip');
          return style.outlineStyle !== 'none' || (chip && getComputedStyle(chip).outlineStyle !== 'none');
        }""")
        assert outline, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")


def test_without_scripts_everything_is_there(visit):
    page = visit(java_script_enabled=False)
    assert shown_claims(page) == DECIDED
    assert page.locator(".claim").count() == CLAIMS
    assert not page.locator("#claim-filters").is_visible()
    assert page.locator("#toy_gaussian_sw_time tbody tr").count() == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_first_screen_has_the_verdict_and_a_figure(visit, width, height, scheme):
    page = visit(viewport={"width": width, "height": height}, color_scheme=scheme)
    assert page.seen["console"] == page.seen["errors"] == page.seen["failed"] == []
    sentence = "Of 7 claims of the paper, 3 hold, 2 do not hold and 2 are undecided at this scale."
    assert page.get_by_text(sentence).is_visible()
    assert "nothing on this page says anything about the paper" in page.get_by_role("note").inner_text()
    box = page.locator(".keys img").first.bounding_box()
    assert box["y"] + box["height"] < height
    assert page.locator(".keys a").count() == KEYS
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_pictures_follow_the_colours(visit):
    """White paper turns dark, by the system or by choice; a key figure's own paper is turned over with it."""
    paper = "getComputedStyle(document.querySelector('.keys img')).backgroundColor"
    lightness = """() => {
      const image = document.querySelector('#toy_sw_vs_n img');
      return getComputedStyle(image).filter;
    }"""
    assert visit(color_scheme="light").evaluate(lightness) == "none"
    page = visit(color_scheme="dark")
    assert "invert" in page.evaluate(lightness)
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    toggle = page.get_by_role("button", name="Colours")
    toggle.press("Enter")
    assert toggle.inner_text() == "Colours: light"
    assert page.evaluate(lightness) == "none"


def test_a_drawing_is_sharp_on_a_phone(visit):
    page = visit(viewport={"width": 390, "height": 844}, has_touch=True)
    assert page.locator("#pedagogical img").get_attribute("src").startswith("data:image/svg+xml")
    page.locator("#pedagogical button.picture").click()
    area = page.get_by_role("dialog").locator(".zoom-area")
    assert page.get_by_role("dialog").locator("img").evaluate("(image) => image.width") > 390
    assert area.evaluate("(node) => node.scrollWidth > node.clientWidth")
