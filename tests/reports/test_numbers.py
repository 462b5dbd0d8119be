"""Digits: the expected texts are worked out by hand from the rule in the docstrings."""

import pytest

from reports.numbers import NARROW_NO_BREAK_SPACE, Notation, decade, plain, spelt, spread_error
from tests.reports.summaries import HARMFUL, UNATTAINABLE, quantile

TEXT = Notation()
THIN = Notation(thousands=NARROW_NO_BREAK_SPACE)


@pytest.mark.parametrize(
    ("error", "expected"), [(12.0, 10.0), (0.7, 0.1), (1.0, 1.0), (9.99, 1.0), (1000.0, 1000.0)]
)
def test_decade_is_that_of_the_leading_digit(error, expected):
    assert decade(error) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (281.4, 12.0, "280"),
        (281.4, 1.2, "281"),
        (281.4, 0.03, "281"),  # no fraction of an accelerator from ten on
        (4.44, 0.2, "4.4"),
        (4.44, 0.001, "4.4"),
        (26100.8, 2015.6, "26,000"),
        (-396.0, 0.0, "−396"),
        (-0.04, 0.2, "0.0"),  # no negative zero
        (30.6, 97.8, "30"),
        (3.0, 12.0, "0"),
        (5432.0, None, "5,000"),  # an error without bound leaves one digit
        (0.0, None, "0"),
        (None, 3.0, "—"),
    ],
)
def test_amount_stops_at_the_decade_of_its_error(value, error, expected):
    assert TEXT.amount(value, error) == expected


def test_amount_separates_thousands_as_the_medium_does():
    assert TEXT.amount(1234567.0, 1.0) == "1,234,567"
    assert THIN.amount(1234567.0, 1.0) == "1\u202f234\u202f567"


def test_amount_of_a_ratio_keeps_three_decimals():
    assert TEXT.amount(0.50278, 0.0, ratio=True) == "0.503"
    assert TEXT.amount(0.50278, 0.02, ratio=True) == "0.50"
    assert TEXT.amount(-0.0148, 0.0009, ratio=True) == "−0.015"


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (281.4, 12.0, "280 ± 10"),
        (260.4, 4.65, "260 ± 5"),
        (281.4, 0.03, "281 ± 1"),  # never an error of zero where there is one
        (0.0, 0.0, "0"),
        (151.4, 1.11, "151 ± 1"),
    ],
)
def test_amount_with_error_shares_one_step(value, error, expected):
    assert TEXT.amount_with_error(value, error) == expected


@pytest.mark.parametrize(
    ("share", "error", "effective", "expected"),
    [
        (0.4583, 0.0070, 5000, "45.8 ± 0.7%"),
        (0.375, 0.077, 40, "38 ± 8%"),
        (0.4583, 0.00002, 1e9, "45.8 ± 0.1%"),
        (0.0, 0.0, 5000, "< 0.1%"),  # 3/5000 = 0.06%, up to the next tenth
        (0.0, 0.0, 1000, "< 0.3%"),
        (0.0, 0.0, 40, "< 8%"),  # 7.5%
        (1.0, 0.0, 5000, "> 99.9%"),
        (1.0, 0.0, 40, "> 92%"),
        (0.0, 0.0, 2, "< 100%"),  # two draws say nothing
        (0.0002, 0.0002, 5000, "< 0.1%"),
        (0.0004, 0.0004, 100_000, "< 0.2%"),  # 0.04% and two errors: 0.12%
        (0.0002, 0.001, 200, "< 2%"),  # 3/200 = 1.5%: a few correlated draws bound less
    ],
)
def test_share_is_a_percentage_or_a_bound(share, error, effective, expected):
    assert TEXT.share_with_error(share, error, effective) == expected


def test_share_of_a_certain_event_is_never_printed_as_certain():
    for effective in (10, 100, 1000, 10**6):
        assert "100.0%" not in TEXT.share(1.0, 0.0, effective)
        assert TEXT.share(1.0, 0.0, effective).startswith(">")


def test_estimate_takes_its_digits_from_the_effective_draws():
    # √(0.827·0.173/1000) = 1.2 points; /100000: 0.12 points
    assert TEXT.estimate(0.8273, 1000) == "83%"
    assert TEXT.estimate(0.8273, 100_000) == "82.7%"
    assert TEXT.estimate(None, 1000) == "—"


def test_share_in_words_spells_the_bound():
    assert TEXT.share_in_words(0.0, 0.0, 1000) == "less than 0.3%"
    assert spelt("> 99.7%") == "more than 99.7%"
    assert TEXT.share_in_words(0.458, 0.007, 5000) == "45.8 ± 0.7%"


def test_points_carry_their_error():
    assert TEXT.points(0.0346, 0.0119) == "3 ± 1 points"
    assert TEXT.points(-0.0346, 0.0019) == "−3.5 ± 0.2 points"
    assert TEXT.points(0.189, 0.0275) == "19 ± 3 points"
    assert TEXT.points(1.0, 0.0) == "100 points"


def test_beside_prints_an_interval_on_one_step():
    assert [TEXT.beside(0.175, value) for value in (0.0347, 0.175, 0.315)] == [
        "0.035",
        "0.175",
        "0.315",
    ]
    assert TEXT.beside(215.0, 66.7) == "67"
    assert TEXT.beside(0.00824, 0.0136) == "0.01360"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (quantile(2176.2, 37.9), "2,180"),
        (quantile(-396.0, 0.0), "−396"),
        (UNATTAINABLE, "cannot be bought"),
        (HARMFUL, "harmful"),
        (quantile(5200.0, None), "5,000"),
    ],
)
def test_sea_says_what_cannot_be_bought(record, expected):
    assert TEXT.sea(record) == expected


def test_spread_error_is_that_of_a_normal_mean():
    # P10 to P90 of a standard normal is 2.5631 wide: its mean over 400 draws errs by 0.05.
    unit = {"mean": 0.0, "p10": -1.28155, "p50": 0.0, "p90": 1.28155}
    assert spread_error(unit, 400.0) == pytest.approx(0.05, rel=1e-4)
    assert spread_error(dict.fromkeys(unit), 400.0) == 0.0


def test_plain_keeps_a_name_on_one_line():
    assert plain("a\n b\t c\u2028d\u202fe") == "a b c d e"


PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f4bb"


def test_plain_shows_what_prints_nothing_or_turns_a_text():
    assert plain("a\x1b[31m\u202eb\x00\u200d\ud800") == (
        "a⟨U+001B⟩[31m⟨U+202E⟩b⟨U+0000⟩⟨U+200D⟩⟨U+D800⟩"
    )
    assert plain(PERSIAN) == PERSIAN


def test_numbers_take_the_separators_of_a_language():
    german = Notation(thousands=".", decimal=",", less="unter ", points_name="Punkte")
    assert german.amount(1234.5, 0.03, ratio=True) == "1.234,50"
    assert german.amount_with_error(4.44, 0.2) == "4,4 ± 0,2"
    assert german.share_in_words(0.0, 0.0, 3000.0) == "unter 0,1%"
    assert german.points(0.05, 0.01) == "5 ± 1 Punkte"
    assert german.digits(-0.004536) == "−0,00454"
