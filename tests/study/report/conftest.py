"""The report page of a made-up run, in a real browser."""

from __future__ import annotations

import shutil

import pytest
from run_data import make_run

from tallsbi.storage.files import write_text
from tallsbi.study.report.render import to_html

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    run = make_run(tmp_path_factory.mktemp("run"))
    write_text(to_html(run.gather()), run.sources.page)
    return run.sources.page


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make env")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip(f"no browser in PATH (looked for {', '.join(BROWSERS)}): install Debian's chromium")
    with sync_api.sync_playwright() as playwright:
        # The sandbox needs rights that containers and root do not have; the page is our own.
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
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
