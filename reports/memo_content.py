"""A run's summary as the content of its memo: the one model that every format is rendered from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports import memo_sections, verdicts
from reports.document import Block, Callout, Document, Facts, Table
from reports.memo_ask import ask
from reports.memo_checks import any_drawn, checks, forms
from reports.memo_comparison import compared
from reports.memo_decision import alarms, decision
from reports.voice import LONGEST_NAME, Voice, cut, voice_of
from reports.wording import Wording, Words, plain_text

FIGURES = ("sea_intervals", "shares_first", "rank_distribution", "four_fates")
CHECK_FIGURES = ("predictive_checks",)
COST_FIGURES = ("break_even", "acceptability", "expected_loss")


LONGEST_TITLE, LONGEST_REQUEST = 120, 400
"""Characters of a title and of a request: longer ones would push the decision off the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Particulars:
    """What only those who write the memo know; each may be empty.

    Parameters
    ----------
    title
        Heading of the memo.
    author
        Who prepared it.
    decision_date
        Day of the decision in ISO 8601.
    request
        What is asked of whom, in the words of the one who asks.
    """

    title: str = ""
    author: str = ""
    decision_date: str = ""
    request: str = ""


def memo_of(
    summary: Mapping[str, Any],
    particulars: Particulars | None = None,
    *,
    wording: Wording | None = None,
    comparison: Mapping[str, Any] | None = None,
) -> Document:
    """The memo of a run.

    Parameters
    ----------
    summary
        The run's summary; the memo details its first answer and tabulates the others.
    particulars
        Title, author, date and request.
    wording
        Its words, English by default.
    comparison
        What changed since another run; None without one.

    Returns
    -------
    Document
        Every figure in it stands in the summary, the particulars or the comparison.
    """
    voice, stated = voice_of(wording), particulars or Particulars()
    answer = summary["answers"][0]
    economics = verdicts.economics_of(answer)
    recommended = economics["decision"]["option"] if economics else answer["recommended"]
    scenario = cut(summary["question"]["scenario"], LONGEST_NAME)
    keywords = voice.text(
        "page.keywords",
        scenario=scenario,
        recommended=plain_text(voice.option(recommended)),
    )
    sampler = summary["sampler"]
    failed = sampler is not None and not sampler["converged"]
    blocks = tuple(_blocks(voice, summary, comparison))
    footer = [*memo_sections.footer(voice, summary)]
    if any("…" in run.text for words in _texts(blocks) for run in words if run.foreign):
        footer.append(voice.say("footer.cut"))
    return Document(
        language=voice.text("page.language"),
        title=cut(stated.title, LONGEST_TITLE) or voice.text("page.title", scenario=scenario),
        particulars=tuple(_stated(voice, stated)),
        author=cut(stated.author, LONGEST_NAME),
        date=stated.decision_date,
        keywords=tuple(keyword.strip() for keyword in keywords.split(",")),
        description=plain_text(ask(voice, summary)),
        page_of=_page_of(voice),
        glyphs_note=voice.say("footer.glyphs"),
        watermark=voice.text("page.watermark") if failed else "",
        blocks=blocks,
        footer=tuple(footer),
        figures_label=voice.text("page.more_figures"),
        figures_at=tuple(
            (name, voice.text(f"figures.{name}"))
            for name in (
                *FIGURES,
                *(COST_FIGURES if economics else ()),
                *(CHECK_FIGURES if any_drawn(summary) else ()),
            )
        ),
    )


def _page_of(voice: Voice) -> tuple[str, str, str]:
    """The words around the numbers of a page and of all pages."""
    before, _, rest = voice.text("page.of", page="\0", pages="\1").partition("\0")
    between, _, after = rest.partition("\1")
    return before, between, after


def _stated(voice: Voice, stated: Particulars) -> Iterator[tuple[Words, Words]]:
    for key, text, longest in (
        ("for", stated.request, LONGEST_REQUEST),
        ("by", stated.author, LONGEST_NAME),
        ("date", stated.decision_date, LONGEST_NAME),
    ):
        if text:
            yield voice.say(f"page.{key}"), (voice.name(text, longest),)


def _blocks(
    voice: Voice, summary: Mapping[str, Any], comparison: Mapping[str, Any] | None
) -> Iterator[Block]:
    yield from alarms(voice, summary)
    yield from forms(voice, summary)
    yield decision(voice, summary)
    yield from memo_sections.worth(voice, summary)
    yield from memo_sections.told_apart(voice, summary)
    yield from memo_sections.drives(voice, summary)
    yield from memo_sections.prices(voice, summary)
    yield from memo_sections.measure(voice, summary)
    yield from memo_sections.regimes(voice, summary)
    yield from memo_sections.caveats(voice, summary)
    yield from memo_sections.rests(voice, summary)
    yield from checks(voice, summary)
    yield from compared(voice, summary, comparison)


def _texts(blocks: tuple[Block, ...]) -> Iterator[Words]:
    """All text of the blocks."""
    for block in blocks:
        match block:
            case Facts(rows=rows):
                yield from (words for row in rows for words in row)
            case Table(heads=heads, rows=cells):
                yield from heads
                yield from (words for row in cells for words in row)
            case Callout(text=text):
                yield text
            case _:
                yield from getattr(block, "items", ())
                if hasattr(block, "text"):
                    yield block.text
