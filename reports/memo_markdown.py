"""The memo as Markdown, with its figures beside it."""

from collections.abc import Iterator

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
from reports.markdown import escaped, line, table
from reports.wording import plain_text


def render_markdown(document: Document) -> str:
    """The memo as Markdown: tables as pipe tables, figures linked in ``figures/``."""
    parts = [f"# {escaped(document.title)}"]
    if document.watermark:
        parts.append(f"> **{escaped(document.watermark)}**")
    if document.particulars:
        parts.append(
            "  \n".join(f"{line(label)}: {line(text)}" for label, text in document.particulars)
        )
    for block in document.blocks:
        parts += _block(block)
    links = ", ".join(
        f"[{escaped(words)}](figures/{name}.png)" for name, words in document.figures_at
    )
    footer = [line(words) for words in document.footer]
    parts += ["---", f"{'. '.join(footer)}. {escaped(document.figures_label)}: {links}."]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading(text=text):
            yield f"## {line(text)}"
        case Paragraph(text=text):
            yield line(text)
        case Callout(text=text):
            yield f"> {line(text)}"
        case Facts(rows=rows):
            yield from (f"**{escaped(plain_text(label))}.** {line(text)}" for label, text in rows)
        case Bullets(items=items):
            yield "\n".join(f"- {line(item)}" for item in items)
        case Figure(name=name, caption=caption, alternative=alternative):
            yield f"![{escaped(alternative)}](figures/{name}.svg)"
            yield line(caption)
        case Table():
            cells = [
                [
                    f"**{line(cell)}**" if k in block.strong_rows and c == 0 else line(cell)
                    for c, cell in enumerate(row)
                ]
                for k, row in enumerate(block.rows)
            ]
            yield table([line(head) for head in block.heads], cells, block.align)
