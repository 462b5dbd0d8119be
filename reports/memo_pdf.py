"""The memo as a tagged PDF on A4, set by Typst with the fonts of its wheel and of Matplotlib.

Content reaches the template as data, so that nothing in it is markup; no font of the system is
looked at, so that the same memo has the same bytes anywhere.
"""

import importlib.resources
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

from reports.document import (
    Block,
    Bullets,
    Callout,
    Document,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
)
from reports.glyphs import Glyphs, breakable, isolated
from reports.wording import Words

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Date of creation in the file where the memo states no date of the decision."""


PAGES, STEPS = 2, 4
"""Pages that a board reads, and sizes of type that the template has to keep to them."""


@cache
def _fonts() -> Any:
    """Fonts of the wheel, and DejaVu for what those lack."""
    import typst
    from matplotlib import get_data_path

    return typst.Fonts(include_system_fonts=False, font_paths=[f"{get_data_path()}/fonts/ttf"])


def render_pdf(document: Document, figures: Mapping[str, str]) -> bytes:
    """The memo as PDF.

    Parameters
    ----------
    document
        The memo.
    figures
        SVG by name of figure.

    Returns
    -------
    bytes
        PDF/UA-1; same memo, same bytes.
    """
    day = date.fromisoformat(document.date) if document.date else None
    created = EPOCH if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)
    pdf: bytes = typeset(document, figures, format="pdf", pdf_standards=["ua-1"], timestamp=created)
    return pdf


def typeset(document: Document, figures: Mapping[str, str], **output: Any) -> Any:
    """The memo in a format that Typst knows; `output` are its options.

    Set in the largest type with which it holds on two pages, else in the smallest.
    """
    import typst

    path = importlib.resources.files("reports").joinpath("templates/memo.typ")
    template = path.read_bytes()
    inputs = {
        "memo": json.dumps(_content(document, Glyphs()), ensure_ascii=False),
        "figures": json.dumps(dict(figures), ensure_ascii=False),
    }
    for step in range(STEPS):
        compiler = typst.Compiler(
            template,
            font_paths=_fonts(),
            ignore_system_fonts=True,
            sys_inputs={**inputs, "step": str(step)},
        )
        if int(compiler.query("<pages>", field="value", one=True)) <= PAGES:
            break
    return compiler.compile(input=template, **output)


def _content(document: Document, glyphs: Glyphs) -> dict[str, Any]:
    """The memo as data, in characters that the fonts hold."""

    def words(runs: Words) -> list[dict[str, Any]]:
        return [
            {
                "text": breakable(isolated(glyphs.shown(run.text))),
                "strong": run.strong,
            }
            for run in runs
        ]

    content = {
        "language": document.language.split("-"),
        "title": breakable(glyphs.shown(document.title)),
        "author": document.author,
        "keywords": list(document.keywords),
        "description": document.description,
        "date": [int(part) for part in document.date.split("-")] if document.date else None,
        "watermark": document.watermark,
        "page_of": list(document.page_of),
        "particulars": [[words(part) for part in row] for row in document.particulars],
        "blocks": [_block(block, words) for block in document.blocks],
        "footer": [words(line) for line in document.footer],
    }
    if glyphs.missing:
        content["footer"] = [*map(words, (*document.footer, document.glyphs_note))]
    return content


def _block(  # noqa: PLR0911 - one a kind
    block: Block, words: Callable[[Words], list[dict[str, Any]]]
) -> dict[str, Any]:
    """A block as data, its kind by name."""
    match block:
        case Heading(text=text):
            return {"kind": "heading", "text": words(text)}
        case Paragraph(text=text, small=small):
            return {"kind": "paragraph", "text": words(text), "small": small}
        case Callout(text=text):
            return {"kind": "callout", "text": words(text)}
        case Facts(rows=rows):
            return {"kind": "facts", "rows": [[words(part) for part in row] for row in rows]}
        case Bullets(items=items):
            return {"kind": "bullets", "items": [words(item) for item in items]}
        case Figure(name=name, caption=caption, alternative=alternative):
            return {
                "kind": "figure",
                "name": name,
                "caption": words(caption),
                "alternative": alternative,
            }
        case Table():
            return {
                "kind": "table",
                "heads": [words(head) for head in block.heads],
                "rows": [[words(cell) for cell in row] for row in block.rows],
                "align": list(block.align),
                "widths": list(block.widths),
                "strong_rows": sorted(block.strong_rows),
            }
