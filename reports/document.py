"""The memo as content: what is said in which order, without any format.

Built once from a run's summary; the renderers of Markdown, HTML and PDF read nothing else.
"""

from dataclasses import dataclass

from reports.wording import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of a section."""

    text: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Sentences; a small one explains what stands above it."""

    text: Words
    small: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Callout:
    """What a reader must know before the first figure."""

    text: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The decision: labels with what they say, in a box."""

    rows: tuple[tuple[Words, Words], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list."""

    items: tuple[Words, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with one row of heads.

    Parameters
    ----------
    caption
        What it holds, for those who cannot see it.
    heads, rows
        Cells.
    align
        ``l`` or ``r`` for each column.
    widths
        Share of each column that may break lines; 0 for one as wide as its longest cell.
    strong_rows
        Rows that stand out.
    """

    caption: str
    heads: tuple[Words, ...]
    rows: tuple[tuple[Words, ...], ...]
    align: str
    widths: tuple[float, ...]
    strong_rows: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture: name of its drawing, caption, and what it shows in words."""

    name: str
    caption: Words
    alternative: str


Block = Heading | Paragraph | Callout | Facts | Bullets | Table | Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The whole memo.

    Parameters
    ----------
    language
        Tag of its language.
    title
        Heading of the memo, as text.
    particulars
        Who asks whom for what until when; empty where nothing was stated.
    author, date, keywords
        Metadata; the date in ISO 8601, empty where none was stated.
    description
        What the file is, for those who search.
    page_of
        What stands before, between and after the number of a page and that of all pages.
    glyphs_note
        What is said below a memo in which characters had to be spelt out.
    watermark
        Words across every page, empty for a memo that may be acted on.
    blocks
        Its content in order.
    footer
        What it was made from.
    figures_label, figures_at
        Names of figures that stand beside the memo, with what they are called, and their label.
    """

    language: str
    title: str
    particulars: tuple[tuple[Words, Words], ...]
    author: str
    date: str
    keywords: tuple[str, ...]
    description: str
    page_of: tuple[str, str, str]
    glyphs_note: Words
    watermark: str
    blocks: tuple[Block, ...]
    footer: tuple[Words, ...]
    figures_label: str
    figures_at: tuple[tuple[str, str], ...]
