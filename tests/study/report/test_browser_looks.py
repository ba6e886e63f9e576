"""How the report page looks in a real browser: on a phone, on paper, in the dark, with the keyboard's focus."""

from __future__ import annotations

import pytest
from run_data import KEY_FIGURES

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
    assert page.locator(".keys a").count() == KEY_FIGURES
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
