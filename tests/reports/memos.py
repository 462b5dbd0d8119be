"""The memo of a summary in each format, as a reader finds it."""

import io
import re
from html.parser import HTMLParser

import pypdf

from reports.document import Figure
from reports.memo_content import memo_of
from reports.memo_html import render_html
from reports.memo_markdown import render_markdown
from reports.memo_pdf import render_pdf
from reports.print_figures import draw
from reports.voice import voice_of

BLANK = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="499pt" height="150pt" viewBox="0 0 499 150">'
    "</svg>"
)
"""In place of a figure, whose ticks are no figures of the run."""


def markdown(run, *, drawn=True, **options):
    """The same with and without figures, which stand beside it."""
    return render_markdown(memo_of(run, **options))


def figures_in(run, memo):
    return {b.name: draw(b.name, voice_of(), run) for b in memo.blocks if isinstance(b, Figure)}


def html(run, *, drawn=True, **options):
    memo = memo_of(run, **options)
    figures = figures_in(run, memo) if drawn else blank(memo)
    return render_html(memo, figures)


def pdf(run, *, drawn=True, **options):
    memo = memo_of(run, **options)
    return render_pdf(memo, figures_in(run, memo) if drawn else blank(memo))


def blank(memo):
    return {block.name: BLANK for block in memo.blocks if isinstance(block, Figure)}


class Text(HTMLParser):
    """Text that a browser shows, with a space between cells and blocks."""

    INLINE = ("strong", "bdi")

    def __init__(self):
        super().__init__()
        self.parts, self.hidden, self.tags = [], 0, []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.hidden += tag in ("style", "title", "svg")
        if tag not in self.INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("style", "title", "svg")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


def parsed(document):
    reader = Text()
    reader.feed(document)
    return reader


def html_text(run, **options):
    return "".join(parsed(html(run, drawn=False, **options)).parts)


def read_pdf(content):
    return pypdf.PdfReader(io.BytesIO(content))


FOOT = re.compile(r"Funding memo: [^\n]*\nPage \d+ of \d+|Page \d+ of \d+")


def text_of_pdf(content):
    """Text of all pages without their feet, words that were broken made whole."""
    pages = (FOOT.sub("", page.extract_text()) for page in read_pdf(content).pages)
    text = "\n".join(pages).replace("\u200b", "")
    return re.sub(r"(?<=\w)[\u2010\u00ad-]\n(?=\w)", "", text)


def pdf_text(run, **options):
    return text_of_pdf(pdf(run, drawn=False, **options))


def section(memo, heading):
    parts = re.split(r"^## ", memo, flags=re.MULTILINE)
    return next(part for part in parts if part.startswith(heading))


def box(memo, label):
    """One row of the decision."""
    return next(line for line in memo.splitlines() if line.startswith(f"**{label}.**"))


def figures_of(value):
    """All numbers of a summary, those inside its texts too."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, str):
        yield from (float(part) for part in re.findall(r"\d+(?:\.\d+)?", value))
    else:
        for part in value.values() if isinstance(value, dict) else value:
            yield from figures_of(part)


NUMBER = re.compile(
    r"(?<![\w.#&])(−?\d[\d\u202f]*(?:\.\d+)?)(?![\w]|\.\d)"
    r"(?:\s±\s[\d.\u202f]+)?(%|\spoints)?"
)

WORDS_OF_THE_TEMPLATE = {"90%", "50%", "10%", "80%", "95%"}
"""Probabilities that the text itself defines: the quantiles."""


def invented(text, *known):
    """Figures of a text that are not a rounding of one in what it tells of."""
    values = [value for one in known for value in figures_of(one)]
    text = re.sub(r"(less than |more than |[<>]\s)[\d.]+%", "", text)
    text = re.sub(r"\(figures/\w+\.(png|svg)\)", "", text)
    found = []
    for match in NUMBER.finditer(text):
        digits, unit = match[1].replace("\u202f", "").replace("−", "-"), match[2] or ""
        if digits + unit in WORDS_OF_THE_TEMPLATE:
            continue
        value = float(digits)
        whole, _, fraction = digits.lstrip("-").partition(".")
        step = 10.0 ** -len(fraction) if fraction else 10.0 ** (len(whole) - len(whole.rstrip("0")))
        scale = 100.0 if unit else 1.0
        if not any(
            min(abs(scale * v - value), abs(-scale * v - value)) <= 0.5 * step * (1 + 1e-9)
            for v in values
        ):
            found.append(match[0])
    return found
