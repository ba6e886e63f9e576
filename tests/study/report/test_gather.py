"""What the report page shows is what the files of the run say."""

import base64
import io
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from config_files import resolved
from PIL import Image
from run_data import CLAIMS, FIGURES, ROOT, make_run

from tallsbi.storage.files import DataError, read_csv, write_csv
from tallsbi.study import artifacts
from tallsbi.study.parts.study import Study
from tallsbi.study.report import captions, gather, records
from tallsbi.study.report.render import outcome, to_html


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path)


def test_same_files_give_the_same_page(run):
    assert to_html(run.gather()) == to_html(run.gather())


def test_pictures_are_the_files(run):
    page = run.gather()
    shown = {figure.id: figure for part in page.parts for figure in part.figures}
    assert set(shown) == set(FIGURES)
    drawing = shown.pop(FIGURES[0])
    content = base64.b64decode(drawing.source.removeprefix("data:image/svg+xml;base64,"))
    assert content == (run.sources.run / "figures" / f"{FIGURES[0]}.svg").read_bytes()
    for name, figure in shown.items():
        content = base64.b64decode(figure.source.removeprefix("data:image/png;base64,"))
        assert content == (run.sources.run / "figures" / f"{name}.png").read_bytes()
        assert (figure.width, figure.height) == Image.open(io.BytesIO(content)).size


def test_parts_and_their_items_follow_the_declaration(run):
    page = run.gather()
    assert [part.id for part in page.parts] == ["toy", "sbibm", "jrnmm"]
    assert page.parts[0].title == "Toy models"
    assert [figure.id for figure in page.parts[0].figures] == ["pedagogical", "toy_sw_vs_n"]
    assert page.parts[0].figures[1].title == "Error against the number of observations"
    assert page.parts[0].figures[1].paper == "Figure 2"
    assert [table.id for table in page.parts[1].tables] == ["metric_summary"]


def test_tables_are_the_readable_ones_with_the_printed_columns_marked(run):
    (table,) = run.gather().parts[0].tables
    assert table.rows[0] == ("GAUSS", "50", "0.45 ± 0.01", "0.17 ± 0.02", "0.17 ± 0.08")
    assert table.printed == (False, False, False, False, True)
    assert table.note == "Mean ± std over 5 seeds."


def test_ledger_counts_every_verdict_and_keeps_every_claim(run):
    ledger = run.gather().ledger
    assert len(ledger.claims) == CLAIMS
    assert dict(ledger.counts) == {"holds": 3, "does not hold": 2, "undecided at this scale": 2}
    assert ledger.claims[2].printed == ""
    first = ledger.claims[0]
    assert (first.verdict, first.measured, first.variant) == ("holds", "0.18", "wide prior")
    assert (first.quantity, first.count, first.units) == ("sW", "5", "seed")
    assert [(v.name, v.measured, v.verdict) for v in first.variants] == [
        ("prior N(0, I)", "0.9", "does not hold")
    ]
    assert [link.href for link in ledger.claims[0].data] == ["../sbibm/distances.csv"]
    assert [link.href for link in ledger.claims[1].data] == ["../tables/toy_gaussian_sw_time.csv"]
    assert [link.href for link in ledger.claims[3].data] == [None]


def test_page_without_ledger(tmp_path):
    page = make_run(tmp_path, ledger=False).gather()
    assert page.ledger is None
    assert 'id="claims"' not in to_html(page)


def test_a_ledger_without_verdicts_is_refused_by_name(run):
    path = run.sources.run / "tables" / "claims.csv"
    write_csv(read_csv(path).drop(columns="verdict"), path)
    with pytest.raises(DataError, match=r"claims\.csv has no column verdict"):
        run.gather()


def test_text_of_the_data_is_text_on_the_page(run):
    text = to_html(run.gather())
    assert "<b>every</b>" not in text
    assert "&lt;b&gt;every&lt;/b&gt;" in text


def test_links_lead_to_files_and_missing_ones_are_named_only(run):
    page = run.gather()
    figure = page.parts[0].figures[0]
    folder = run.sources.page.parent
    folder.mkdir()
    assert [link.text for link in figure.data] == ["sbibm/distances.csv", "PDF"]
    assert all((folder / link.href).exists() for link in figure.data)
    assert (folder / figure.code.href).resolve() == ROOT / "src/tallsbi/study/figures/pedagogical.py"
    assert run.sources.link("nowhere.csv").href is None


def test_failures_are_counted_once_per_run_and_reference(run):
    page = run.gather()
    (lost,) = page.lost
    assert lost == ("sbibm/distances", "sir", "LANGEVIN", "2", "4", "8")
    (failed,) = page.uncertified
    assert failed == ("sbibm/distances", "slcp", "1", "4", "8")


def test_cost_and_time_are_sums_of_the_records(run):
    page = run.gather()
    # What came after the last look is added, and the job without CPU time counts with its time on the clock.
    assert dict(page.facts)["Cost"] == "1.05 core-hours in 3 measured jobs"
    assert dict(page.facts)["First job began"] == "2023-11-14 21:12 UTC"
    assert dict(page.facts)["Last job ended"] == "2023-11-14 22:13 UTC"
    assert [(part, jobs, peak) for part, jobs, _, _, peak in page.usage] == [
        ("sbibm", "2", "900"),
        ("toy", "1", "300"),
    ]


def test_run_without_records_says_so(run):
    empty = records.read_records(run.sources.run / "nowhere")
    assert empty == ()
    assert records.span(empty) == (records.UNKNOWN, records.UNKNOWN)
    assert records.core_hours(empty) == 0


def test_switches_show_both_protocols(run):
    config = resolved(protocol="stated")
    rows = {
        key: values
        for key, *values in gather.gather(run.sources, replace(run.record, config=config)).switches
    }
    assert set(rows) == set(config["fidelity"])
    assert rows["toy_prior"][:3] == ["standard", "wide", "standard"]
    assert rows["jrnmm_sigma"][1] == "[100, 5000]"
    assert all(about for *_, about in rows.values())


def test_commit_says_whether_files_differ(tmp_path):
    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert records.commit(tmp_path / "nowhere") == records.UNKNOWN
    git("init", "--quiet")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "--quiet", "-m", "one")
    head = git("rev-parse", "HEAD")[:12]
    assert records.commit(tmp_path) == head
    (tmp_path / "file").write_text("2")
    assert records.commit(tmp_path) == f"{head}, with local changes"


def test_a_picture_that_is_none_is_refused_by_name(run):
    path = run.sources.run / "figures" / "jrnmm_3d.png"
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"jrnmm_3d\.png is no PNG"):
        run.gather()


# Captions and titles of the repository


def test_every_caption_has_a_first_sentence_and_a_title():
    names = {path.stem for path in (ROOT / captions.FOLDER).glob("*.rst")} - {"workflow"}
    declared = artifacts.read(ROOT, Study(resolved())).artifacts
    assert names == set(declared)
    for name in names:
        caption = captions.read(ROOT, name)
        assert 4 <= len(caption.text.split()) <= 80, name
        assert caption.text.count("(") == caption.text.count(")"), name
        assert caption.text.endswith("."), name


def test_caption_markup_becomes_html_and_stays_safe():
    caption = captions.parse("A *first* sentence with 1 < 2. Then ``code`` and more.")
    assert str(caption.lead) == "<p>A <em>first</em> sentence with 1 &lt; 2.</p>"
    assert caption.text == "A first sentence with 1 < 2."
    assert "code" in caption.rest
    assert "<script>" not in captions.to_html("<script>alert(1)</script>")


def test_broken_caption_is_an_error_that_names_the_file():
    with pytest.raises(Exception, match=r"mine\.rst"):
        captions.to_html("An ``open literal", "mine.rst")


def test_a_caption_cannot_read_files():
    with pytest.raises(Exception, match="include"):
        captions.to_html(f".. include:: {Path(__file__)}", "mine.rst")


def test_a_drawing_of_many_points_is_shown_as_a_picture(run):
    path = run.sources.run / "figures" / f"{FIGURES[0]}.svg"
    path.write_bytes(path.read_bytes() + b" " * gather.LARGEST_DRAWING)
    assert run.gather().key_figures[0].source.startswith("data:image/png")


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            [("holds", 1), ("does not hold", 0), ("undecided at this scale", 1)],
            "Of 2 claims of the paper, 1 holds and 1 is undecided at this scale.",
        ),
        ([("holds", 5)], "Of 5 claims of the paper, 5 hold."),
        ([("holds", 0)], "No claim was tested."),
    ],
)
def test_the_verdict_is_a_sentence(counts, sentence):
    assert outcome(counts) == sentence


@pytest.mark.parametrize(
    ("scale", "words"),
    [("smoke", "nothing on this page"), ("laptop", "Smaller than the paper"), ("paper", None)],
)
def test_small_scales_have_a_note(run, scale, words):
    html = to_html(replace(run.gather(), scale=scale))
    assert ('role="note"' in html) == (words is not None)
    assert words is None or words in html
