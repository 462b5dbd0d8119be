"""The memo as HTML, in a real browser."""

import pytest

from tests.browser.viewing import SCHEMES, WIDTHS, asked_elsewhere, misplaced, opened, violations
from tests.reports.memos import html
from tests.reports.summaries import CASES, compared, driven, funded, summary
from tests.reports.test_memo_formats import HOSTILE, besieged, stated


def memo_in(directory, run, **options):
    file = directory / "memo.html"
    file.write_text(html(run, **options), encoding="utf-8")
    return file


VIEWS = [
    pytest.param(
        width,
        scheme,
        marks=[] if (width, scheme) == (390, "dark") else pytest.mark.slow,
    )
    for width in WIDTHS
    for scheme in SCHEMES
]


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_memo_fits_the_window_and_asks_for_nothing(browser, tmp_path, width, scheme):
    file = memo_in(tmp_path, summary(driven()), comparison=compared())
    with opened(browser, file, width=width, scheme=scheme) as (view, heard):
        assert misplaced(view) == []
        assert violations(view) == []
        assert heard.complaints == []
        assert asked_elsewhere(heard, file) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_memo_of_every_case_fits_a_phone(browser, tmp_path, case):
    file = memo_in(tmp_path, summary(CASES[case]()))
    with opened(browser, file, width=390) as (view, heard):
        assert misplaced(view) == []
        assert violations(view) == []
        assert heard.complaints == []
        assert asked_elsewhere(heard, file) == []


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow) for k in HOSTILE])
def test_memo_shows_hostile_text_as_text_in_a_browser(browser, tmp_path, kind):
    text = HOSTILE[kind]
    file = memo_in(tmp_path, besieged(text), particulars=stated(text))
    for width in (1440, 390):
        with opened(browser, file, width=width) as (view, heard):
            assert view.evaluate("document.querySelectorAll('script, iframe, img').length") == 0
            assert misplaced(view) == []
            assert heard.complaints == []
            assert asked_elsewhere(heard, file) == []


def test_memo_fits_the_paper(browser, tmp_path):
    file = memo_in(tmp_path, summary(funded()))
    with opened(browser, file, width=690, scheme="dark", media="print") as (view, _):
        assert misplaced(view) == []
        assert view.evaluate("getComputedStyle(document.body).color") == "rgb(34, 34, 34)"
