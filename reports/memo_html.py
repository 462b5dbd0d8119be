"""The memo as one HTML file: figures inside, nothing fetched, light or dark, phone or paper."""

import importlib.resources
import re
from collections.abc import Iterator, Mapping
from html import escape

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
from reports.glyphs import turns
from reports.palette import GRID, INK, NEUTRAL, ON_DARK, PALETTE
from reports.wording import Run, Words

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What the file may do in a browser: show its own styles, and nothing else."""

ROLES = {INK: "ink", NEUTRAL: "quiet", GRID: "grid", "#FFFFFF": "paper"}


def render_html(document: Document, figures: Mapping[str, str]) -> str:
    """The memo as HTML.

    Parameters
    ----------
    document
        The memo.
    figures
        SVG by name of figure.
    """
    described = {"description": document.description, "keywords": ", ".join(document.keywords)}
    if document.author:
        described["author"] = document.author
    if document.date:
        described["date"] = document.date
    metadata = "\n".join(
        f'<meta name="{name}" content="{escape(text)}">' for name, text in described.items()
    )
    body = "\n".join(_body(document, figures))
    return f"""<!doctype html>
<html lang="{escape(document.language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{escape(document.title)}</title>
{metadata}
<style>
{_style()}</style>
</head>
<body>
{body}
</body>
</html>
"""


def _style() -> str:
    """The style sheet with the palette for light and for dark."""
    path = importlib.resources.files("reports").joinpath("templates/memo.css")
    light, dark = (
        " ".join(f"--option-{k}: {colour};" for k, colour in enumerate(colours))
        for colours in (PALETTE, ON_DARK)
    )
    text = path.read_text(encoding="utf-8")
    text = text.replace("/*dark*/", dark).replace("/*light*/", light)
    return text.replace("--warm: #fbeceb;\n}", f"--warm: #fbeceb;\n  {light}\n}}", 1)


def _body(document: Document, figures: Mapping[str, str]) -> Iterator[str]:
    if document.watermark:
        yield f'<div class="watermark" aria-hidden="true">{escape(document.watermark)}</div>'
    yield f"<header>\n<h1>{_foreign(document.title)}</h1>"
    if document.particulars:
        yield f'<dl class="particulars">\n{_terms(document.particulars)}\n</dl>'
    yield "</header>\n<main>"
    for block in document.blocks:
        yield _block(block, figures)
    footer = ". ".join(_line(words) for words in document.footer)
    yield f"</main>\n<footer>{footer}.</footer>"


def _foreign(text: str) -> str:
    return f"<bdi>{escape(text)}</bdi>"


def _run(run: Run) -> str:
    text = _foreign(run.text) if run.foreign or turns(run.text) else escape(run.text)
    return f"<strong>{text}</strong>" if run.strong else text


def _line(words: Words) -> str:
    return "".join(map(_run, words))


def _terms(rows: tuple[tuple[Words, Words], ...]) -> str:
    return "\n".join(
        f"<div><dt>{_line(label)}</dt><dd>{_line(text)}</dd></div>" for label, text in rows
    )


def _block(block: Block, figures: Mapping[str, str]) -> str:  # noqa: PLR0911 - one a kind
    match block:
        case Heading(text=text):
            return f"<h2>{_line(text)}</h2>"
        case Paragraph(text=text, small=small):
            return f"<p{' class="small"' if small else ''}>{_line(text)}</p>"
        case Callout(text=text):
            return f'<p class="callout">{_line(text)}</p>'
        case Facts(rows=rows):
            return f'<dl class="facts">\n{_terms(rows)}\n</dl>'
        case Bullets(items=items):
            inside = "\n".join(f"<li>{_line(item)}</li>" for item in items)
            return f"<ul>\n{inside}\n</ul>"
        case Figure():
            return _figure(block, figures[block.name])
        case Table():
            return _table(block)


def _table(table: Table) -> str:
    def cells(tag: str, row: tuple[Words, ...]) -> str:
        parts = []
        for words, side, width in zip(row, table.align, table.widths, strict=True):
            kind = ' class="number"' if side == "r" else ' class="words"' if width else ""
            scope = ' scope="col"' if tag == "th" else ""
            parts.append(f"<{tag}{kind}{scope}>{_line(words)}</{tag}>")
        return "".join(parts)

    rows = "\n".join(
        f"<tr{' class="chosen"' if k in table.strong_rows else ''}>{cells('td', row)}</tr>"
        for k, row in enumerate(table.rows)
    )
    label = escape(table.caption)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">\n'
        f"<table>\n<thead><tr>{cells('th', table.heads)}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def _figure(figure: Figure, svg: str) -> str:
    label = escape(figure.alternative)
    inside = _inlined(figure.name, svg)
    inside = inside.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return (
        f'<figure>\n<div class="scroll" tabindex="0" role="group" aria-label="{label}">\n{inside}'
        f"</div>\n<figcaption>{_line(figure.caption)}</figcaption>\n</figure>"
    )


def _inlined(name: str, svg: str) -> str:
    """An SVG whose identifiers are its own in the page and whose colours are the page's."""
    svg = re.sub(r'\b(id=")', rf"\1{name}-", svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}-", svg)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)

    def themed(match: re.Match[str]) -> str:
        colour = match[0].upper()
        if colour in ROLES:
            return f"var(--{ROLES[colour]})"
        known = [one.upper() for one in PALETTE]
        return f"var(--option-{known.index(colour)})" if colour in known else match[0]

    return re.sub(r"(?<=: )#[0-9a-fA-F]{6}\b", themed, svg)
