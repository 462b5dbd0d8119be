"""Words of the memo: all in one file, put together without markup of a user ever being read."""

import re
from pathlib import Path
from string import Formatter

import pytest

from reports import wording
from reports.document import Figure
from reports.memo_content import memo_of
from reports.memo_html import render_html
from reports.memo_markdown import render_markdown
from reports.print_figures import draw
from reports.voice import voice_of
from reports.wording import (
    Run,
    Wording,
    WordingError,
    capital,
    joined,
    plain_text,
    replaced,
    sentences,
    shipped,
)
from tests.reports.memos import html, parsed, pdf, read_pdf
from tests.reports.summaries import (
    bought_instead,
    clear_winner,
    compared,
    driven,
    funded,
    measured_first,
    nothing_worth_funding,
    split_decision,
    summary,
    unattainable,
)

REPORTS = Path(wording.__file__).parent


def test_say_puts_runs_into_a_sentence_with_their_style():
    words = Wording(messages={"a.b": "Fund **{option}** at {cost}."})
    name = Run(text="x", foreign=True)
    assert words.say("a.b", option=name, cost="5") == (
        Run(text="Fund "),
        Run(text="x", strong=True, foreign=True),
        Run(text=" at 5."),
    )


def test_say_reads_no_markup_in_what_is_put_in():
    words = Wording(messages={"a": "{x} **{y}**"})
    said = words.say("a", x="**not strong** {y}", y="{x}")
    assert plain_text(said) == "**not strong** {y} {x}"
    assert [run.text for run in said if run.strong] == ["{x}"]


def test_sentences_leave_out_what_is_empty():
    one, two = (Run(text="A."),), (Run(text="B."),)
    assert sentences(one, (), two) == (Run(text="A. B."),)
    assert joined([Run(text=""), *one]) == one


def test_capital_begins_a_sentence_but_keeps_a_name():
    assert capital((Run(text="doing nothing"),)) == (Run(text="Doing nothing"),)
    assert capital((Run(text="name", foreign=True),)) == (Run(text="name", foreign=True),)
    assert capital(()) == ()


def test_every_sentence_that_ships_is_used_and_every_one_used_ships():
    """Keys stand in the code as literals, or as the literal beginning of an f-string."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in REPORTS.glob("*.py"))
    keys = set(shipped().messages)
    literal = set(re.findall(r'"([a-z_]+\.[a-z0-9_]+)"', source)) & keys
    called = re.findall(r'(?:say|text)\(\s*"([a-z_]+\.[a-z0-9_.]+)"', source)
    assert set(called) <= keys
    heads = set(re.findall(r'f"((?:[a-z_]+\.)[a-z_0-9]*)\{', source))
    named = {f"table.{key}" for key in re.findall(r'"([a-z_0-9]+)"', source)}
    unused = {
        key for key in keys - literal - named if not any(key.startswith(head) for head in heads)
    }
    assert unused == set()


def fields(message):
    return {field for _, field, _, _ in Formatter().parse(message) if field is not None}


CASES = {
    "split": split_decision,
    "driven": driven,
    "nothing": nothing_worth_funding,
    "unattainable": unattainable,
    "funded": funded,
    "measured_first": measured_first,
    "bought_instead": bought_instead,
}


def foreign_language():
    """The wording with every letter of its own made an x."""
    messages = {}
    for key, message in shipped().messages.items():
        if key.startswith("units.") or key == "page.language":
            messages[key] = message
            continue
        parts = re.split(r"(\{[a-z_0-9]+\})", message)
        messages[key] = "".join(
            part if part.startswith("{") else re.sub(r"[^\W\d_]", "x", part) for part in parts
        )
    return Wording(messages=messages)


def texts_of(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from texts_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_of(part)


@pytest.mark.parametrize("case", CASES)
def test_every_word_of_the_memo_and_its_figures_comes_from_the_file(case):
    run, comparison = summary(CASES[case]()), compared()
    words = foreign_language()
    memo = memo_of(run, wording=words, comparison=comparison)
    figures = {
        one.name: draw(one.name, voice_of(words), run)
        for one in memo.blocks
        if isinstance(one, Figure)
    }
    markdown = re.sub(r"\(figures/[^)]*\)", "", render_markdown(memo))
    drawn = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", "".join(figures.values())))
    seen = " ".join([markdown, drawn, *parsed(render_html(memo, figures)).parts])
    own = set(re.findall(r"[^\W\d_]{2,}", " ".join(texts_of([run, comparison]))))
    own = {word.lower() for word in own}
    english = {
        word
        for word in re.findall(r"[^\W\d_]{3,}", seen)
        if set(word.lower()) != {"x"} and word.lower() not in own
    }
    assert english == set()
    assert "xxx" in seen


def test_a_file_replaces_the_sentences_that_it_holds(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text('[ask]\nfund = "Approve **{option}**{description}."\n')
    words = replaced(path)
    assert plain_text(words.say("ask.fund", option="a", description="")) == "Approve a."
    path.write_text('[units]\nGB = "gigabyte"\n')
    assert voice_of(replaced(path)).value(2.0, "GB") == "2\u00a0gigabyte"
    path.write_text('[page]\nlanguage = "pt-BR"\n')
    run = summary(clear_winner())
    assert '<html lang="pt-BR">' in html(run, drawn=False, wording=replaced(path))
    root = read_pdf(pdf(run, drawn=False, wording=replaced(path))).trailer["/Root"]
    assert root["/Lang"] == "pt-BR"
    assert words.messages["heading.worth"] == shipped().messages["heading.worth"]


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        ("[ask\n", ["not a TOML file"]),
        ('[ask]\nfnd = "x"\n[head]\nx = "y"\n', ["ask.fnd", "head.x"]),
        ("[ask]\nfund = 3\n", ["ask.fund: 3 is not a text"]),
        ('[ask]\nfund = "{optoin}"\n', ["no field {optoin}; there are {description}, {option}"]),
        ('[ask]\nfund = "{option"\n', ["ask.fund"]),
        ('[ask]\nfund = "{option.__class__}"\n', ["no field"]),
        ('[ask]\nfund = "{option[0]}"\n', ["no field"]),
        ('[ask]\nfund = "{}"\n', ["no field {}"]),
        ('[ask]\nfund = "{option!r} {description:>9}"\n', ["without : or !"]),
        ('[ask]\nfund = "two\\nlines"\n', ["no line break"]),
        ('[page]\nlanguage = "English"\n', ["'English' is no language tag"]),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_every_reason(tmp_path, content, reasons):
    path = tmp_path / "ours.toml"
    path.write_text(content)
    with pytest.raises(WordingError) as refused:
        replaced(path)
    assert len(refused.value.reasons) == len(reasons)
    for told, reason in zip(refused.value.reasons, reasons, strict=True):
        assert reason in told


def test_a_language_that_does_not_ship_is_refused_with_those_that_do():
    with pytest.raises(WordingError, match=r"'tlh' does not ship; known: en"):
        shipped("tlh")


def test_numbers_of_the_memo_follow_the_separators_of_the_wording():
    messages = {**shipped().messages, "numbers.thousands": ".", "numbers.decimal": ","}
    memo = render_markdown(memo_of(summary(clear_winner()), wording=Wording(messages=messages)))
    assert "2.560" in memo
    assert "83,0\u00a0±\u00a00,5%" in memo
