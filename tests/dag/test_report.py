"""The rule of the report page, on a run whose tables and figures are made up."""

from __future__ import annotations

import pytest
from made_up import make_up_run, missing_inputs

from study import Study, clone

pytestmark = pytest.mark.dag

# No other rule may run, so nothing is asked of the files that the made-up ones would be made from.
ALONE = ("make_report", "--allowed-rules", "make_report")
PAGE = "results/smoke/report/index.html"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    study = clone(tmp_path_factory.mktemp("report") / "study")
    make_up_run(study.root, missing_inputs(study, *ALONE))
    study.run(*ALONE)
    return study


def test_page_shows_every_figure_and_table(finished):
    page = (finished.root / PAGE).read_text()
    for kind in ("figures/*.png", "tables/*.csv"):
        names = {path.stem for path in (finished.root / "results/smoke").glob(kind)}
        assert len(names) > 5
        assert {name for name in names if f'id="{name}"' not in page} == set()


def test_second_run_has_nothing_to_do(finished):
    assert finished.planned(*ALONE) == {}


def test_change_of_template_or_caption_makes_the_page_anew_and_a_touch_does_not(finished):
    style = finished.root / "src/tallsbi/study/report/templates/style.css"
    caption = finished.root / "workflow/report/pedagogical.rst"
    for path in (style, caption):
        path.touch()
    assert finished.planned(*ALONE) == {}
    for path in (style, caption):
        before = path.read_text()
        path.write_text(before + "\n\n")
        assert set(finished.planned(*ALONE)) == {"make_report"}, path
        path.write_text(before)
