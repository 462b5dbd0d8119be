"""Formats of the memo: whole on two pages, accessible, repeatable, deaf to hostile text."""

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from PIL import Image
from pypdf.generic import IndirectObject

from reports.glyphs import Glyphs, breakable, isolated
from reports.markdown import escaped, line
from reports.memo_content import Particulars, memo_of
from reports.memo_html import render_html
from reports.memo_markdown import render_markdown
from reports.memo_pdf import render_pdf, typeset
from reports.numbers import code_point, plain
from reports.wording import Run
from tests.reports.memos import (
    BLANK,
    blank,
    figures_in,
    html,
    invented,
    markdown,
    parsed,
    pdf,
    read_pdf,
    text_of_pdf,
)
from tests.reports.summaries import (
    CASES,
    clear_winner,
    compared,
    driven,
    funded,
    many_options,
    many_priced,
    parameter,
    split_decision,
    summary,
    unattainable,
)

STATED = Particulars(
    title="Network or spares?",
    author="A. Planner",
    decision_date="2026-09-30",
    request="Board: release the Q4 tranche",
)

HOSTILE = {
    "pipes": "a | b",
    "script": "<script>alert('x')</script>",
    "code": "`code` ``more``",
    "emphasis": "*bold* **x** _em_ __y__",
    "lines": "two\nlines\r\n# heading",
    "links": "[link](javascript:x) ![i](y)",
    "entities": "$x$ ~~z~~ &amp; \\| ^1",
    "shell": "$(touch /tmp/x) ${HOME}",
    "typst": '#read("/etc/passwd") #set page(fill: red) $ x $ @label <label> \\u{41}',
    "fields": "{option} {0} {{x}} %s",
    "override": "\u202egnp.exe\u202c",
    "right_to_left": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "long": "W" * 300,
    "dotted": "a_b." * 75,
    "emoji": "\U0001f600 \U0001f984 \u65e5\u672c \U0001f469\u200d\U0001f4bb",
    "control": "nul\x00 bell\x07 \x1b[31mred",
    "surrogate": "half \ud83d",
    "list": "- item",
    "heading": "# heading",
    "number": "1. one",
    "rule": "---",
    "addresses": "https://evil.example www.evil.example @someone a@b.example",
}


def besieged(text):
    """A run in which every text that a user writes is hostile."""
    names = [f"{text} {i}" for i in range(10)]
    base = many_priced(names)
    for one in base["options"]:
        one["description"] = text
    return summary(
        base | {"regime": text},
        question={"scenario": text, "evidence": [text], "overrides": {text: text}},
        parameters=[parameter(meaning=text, source=text, owner=text, unit=text, basis=text)],
        notes=[text],
        warnings=[text],
    )


def stated(text):
    return Particulars(title=text, author=text, decision_date="2026-09-30", request=text)


INSIDE_FIGURES = {"g", "path", "use", "text", "defs", "clippath", "rect", "svg", "style"}


def solid(text):
    """A text without white space: lines of a page may break anywhere."""
    return re.sub(r"[\s\u200b\u2068\u2069]", "", text)


@cache
def under_siege(kind):
    """Content and figures of a memo in which one hostile text stands everywhere."""
    run = besieged(HOSTILE[kind])
    memo = memo_of(run, stated(HOSTILE[kind]))
    return memo, figures_in(run, memo) if kind in DRAWN else blank(memo)


DRAWN = ("typst", "override", "long", "dotted", "emoji", "control", "surrogate")
"""Texts that are drawn in figures too."""


@cache
def calm(read):
    """The same memo with a text that means no harm."""
    return read(besieged("calm"), drawn=False, particulars=stated("calm"))


MARKDOWN_ONLY = {"pipes", "emphasis", "entities", "list", "heading", "number", "rule", "lines"}
ELSEWHERE = [kind for kind in HOSTILE if kind not in MARKDOWN_ONLY]


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_pdf_shows_hostile_text_as_text(kind):
    memo, figures = under_siege(kind)
    reader = read_pdf(render_pdf(memo, figures))
    shown = solid("".join(page.extract_text() for page in reader.pages))
    expected = plain(HOSTILE[kind])
    if kind == "right_to_left":  # the order in which a page holds such letters is its own
        assert set(solid(expected)) <= set(shown)
        return
    begins = solid(Glyphs().shown(expected[:40]))
    # Title, author, request, regime twice, an option here and there, assumption, notes …
    assert shown.count(begins[:24]) >= 12
    assert not reader.attachments
    assert all(
        "/A" not in one.get_object() for page in reader.pages for one in page.annotations or ()
    )


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_html_shows_hostile_text_as_text(kind):
    memo, figures = under_siege(kind)
    document = render_html(memo, figures)
    reader, other = parsed(document), parsed(calm(html))
    assert set(reader.tags) - INSIDE_FIGURES == set(other.tags) - INSIDE_FIGURES
    told = ("script", "a", "img", "iframe", "h1", "h2", "li", "td")
    assert [tag for tag in reader.tags if tag in told] == [tag for tag in other.tags if tag in told]
    shown = solid("".join(reader.parts))
    assert shown.count(solid(plain(HOSTILE[kind]))[:24]) >= 12
    document.encode("utf-8")


@pytest.mark.parametrize("kind", HOSTILE)
def test_markdown_shows_hostile_text_as_text(kind):
    memo, _ = under_siege(kind)
    document = render_markdown(memo)
    other = calm(markdown)

    def structure(text):
        # Lines by how they begin, and cells.
        return [
            (re.match(r"#+ |> |- |\||!\[|\*\*|---$|", row)[0], row.count("|"))
            for row in text.splitlines()
        ]

    assert structure(document) == structure(other)
    links = re.findall(r"\]\(([^)]*)\)", document)
    assert links == re.findall(r"\]\(([^)]*)\)", other)
    assert solid(unescape(document)).count(solid(plain(HOSTILE[kind]))[:24]) >= 12


@pytest.mark.parametrize("kind", HOSTILE)
def test_markdown_is_read_as_text_by_a_parser_of_its_own(kind):
    """markdown-it, an independent reading of CommonMark with tables."""
    from markdown_it import MarkdownIt

    def kinds(text):
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
        inline = [child for token in tokens for child in token.children or ()]
        return [token.type for token in (*tokens, *inline) if token.type != "text"]

    memo, _ = under_siege(kind)
    assert kinds(render_markdown(memo)) == kinds(calm(markdown))


def test_typst_is_given_no_way_to_a_file():
    memo, figures = under_siege("typst")
    text = text_of_pdf(render_pdf(memo, figures))
    assert "root:" not in text
    assert '#read("/etc/passwd")' in text.replace("\n", "")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_escaped_text_has_no_meaning_in_markdown(text):
    safe = escaped(plain(text))
    assert "\n" not in safe
    assert not re.search(r"[|<>`*\[\]\\$~^]", safe)
    assert not re.search(r"&(?!#\d+;)", safe)
    assert not re.search(r"(?<![^\W_])_|_(?![^\W_])", safe)
    assert unescape(safe) == plain(text)


def test_escaped_name_keeps_its_underscores_and_a_bound_its_sign():
    assert escaped("bandwidth_2x") == "bandwidth_2x"
    assert escaped("<\u00a00.1%") == "<\u00a00.1%"


def test_emphasis_in_markdown_opens_and_closes_at_words():
    runs = (
        Run(text="Fund "),
        Run(text=" a ", strong=True),
        Run(text="b", strong=True),
        Run(text="."),
    )
    assert line(runs) == "Fund  **a b**."
    assert line((Run(text="# not a heading"),)) == "&#35; not a heading"
    assert line((Run(text="12. not a list"),)) == "&#49;&#50;. not a list"
    assert line((Run(text="12.5 is a figure"),)) == "12.5 is a figure"


def regimes(base, count=6):
    """Six regimes and twelve parameters with long texts, and what drives the first."""
    texts = {
        "meaning": "from detection to the first new step of the job",
        "source": "Kokolis et al., HPCA 2025: interruptions against failures",
    }
    answers = [base() | {"regime": f"regime_{i}" if i else ""} for i in range(count)]
    answers[0]["drivers"] = driven()["drivers"]
    return summary(
        *answers,
        parameters=[parameter(path=f"a.b{i}", **texts) for i in range(12)],
        notes=["a column of the draws file is ignored"],
    )


ON_TWO_PAGES = {
    **{name: (lambda case=case: summary(case())) for name, case in CASES.items()},
    "driven": lambda: summary(driven()),
    "regimes": lambda: regimes(many_options),
    "regimes_with_costs": lambda: regimes(many_priced),
    "few_regimes": lambda: regimes(many_options, 3),
    "five_regimes": lambda: regimes(many_options, 5),
}


@pytest.mark.parametrize("case", ON_TWO_PAGES)
def test_memo_holds_on_two_pages(case):
    run = ON_TWO_PAGES[case]()
    pages = read_pdf(pdf(run)).pages
    assert len(pages) <= 2
    assert [round(float(edge)) for edge in pages[0].mediabox[2:]] == [595, 842]
    # The decision is whole on the first page.
    first = pages[0].extract_text()
    for label in ("Ask", "Alternatives", "How sure", "If it is wrong", "change it"):
        assert label in first


def test_memo_with_particulars_and_comparison_takes_no_fourth_page():
    content = pdf(regimes(many_priced), particulars=STATED, comparison=compared())
    assert len(read_pdf(content).pages) <= 3


def margins(image):
    """Darkest grey left and right of the text, 255 for none."""
    grey = Image.open(io.BytesIO(image)).convert("L")
    strip = round(14 / 210 * grey.width)
    left = grey.crop((0, 0, strip, grey.height))
    right = grey.crop((grey.width - strip, 0, grey.width, grey.height))
    return min(left.getextrema()[0], right.getextrema()[0])


def pages_as_images(memo, figures):
    pages = typeset(memo, figures, format="png", ppi=50.0)
    return pages if isinstance(pages, list) else [pages]


@pytest.mark.parametrize("kind", ["long", "dotted", "emoji", "typst"])
def test_words_that_do_not_end_stay_on_the_page(kind):
    memo, figures = under_siege(kind)
    assert {margins(page) for page in pages_as_images(memo, figures)} == {255}


def test_a_word_beyond_the_page_is_found(monkeypatch):
    monkeypatch.setattr("reports.memo_pdf.breakable", lambda text: text)
    memo, figures = under_siege("long")
    assert min(margins(page) for page in pages_as_images(memo, figures)) < 100


def test_pdf_is_tagged_searchable_and_has_its_metadata():
    reader = read_pdf(pdf(summary(split_decision()), particulars=STATED))
    root = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == "en"
    assert root["/ViewerPreferences"]["/DisplayDocTitle"]
    assert "pdfuaid:part" in root["/Metadata"].get_object().get_data().decode()
    assert reader.metadata.title == "Network or spares?"
    assert reader.metadata.author == "A. Planner"
    assert reader.metadata.subject.startswith("Fund halve_failures (Change something).")
    assert "halve_failures" in reader.metadata.keywords
    assert reader.metadata.creation_date.date().isoformat() == "2026-09-30"
    kinds = structure_kinds(root["/StructTreeRoot"])
    assert {"/H1", "/H2", "/Table", "/TH", "/TD", "/TR", "/P", "/L", "/LI"} <= set(kinds)
    assert kinds.count("/Figure") == 2
    text = " ".join(page.extract_text() for page in reader.pages)
    assert "What would" in text
    # The text of figures is text as well.
    assert "break-even cost in accelerators" in text


def structure_kinds(node):
    """Kinds of all elements of the structure below a node."""
    found, stack = [], [node]
    while stack:
        one = stack.pop()
        one = one.get_object() if isinstance(one, IndirectObject) else one
        if isinstance(one, list):
            stack += one
        elif isinstance(one, dict):
            found += [one["/S"]] if "/S" in one else []
            if one.get("/S") == "/Figure":
                assert "plot" in one["/Alt"].lower()
            stack += [one["/K"]] if "/K" in one else []
    return found


def test_pdf_embeds_every_font_and_takes_none_of_the_system():
    reader = read_pdf(pdf(summary(split_decision())))
    fonts = {}
    for page in reader.pages:
        for name, font in page["/Resources"]["/Font"].items():
            fonts[name] = font.get_object()
        for drawn in page["/Resources"].get("/XObject", {}).values():
            inside = drawn.get_object().get("/Resources", {}).get("/Font", {})
            fonts |= {name: font.get_object() for name, font in inside.items()}
    families = set()
    for font in fonts.values():
        below = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        descriptor = below["/FontDescriptor"].get_object()
        assert {"/FontFile", "/FontFile2", "/FontFile3"} & set(descriptor)
        families.add(re.sub(r"^/[A-Z]{6}\+|-.*", "", font["/BaseFont"]))
    assert families <= {"LibertinusSerif", "DejaVuSans"}
    assert len(families) == 2


def test_pdf_without_a_date_states_none_of_today():
    first = pdf(summary(clear_winner()), drawn=False)
    created = read_pdf(first).metadata.creation_date
    assert created is None or created.year == 2000
    assert first == pdf(summary(clear_winner()), drawn=False)


PROGRAM = """
import hashlib, json, sys
from pathlib import Path
from reports.memo import write_memo
run = json.loads(Path(sys.argv[1]).read_text())
for path in write_memo(run, Path(sys.argv[2])):
    print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
"""


def test_memo_has_the_same_bytes_in_another_process(tmp_path):
    (tmp_path / "summary.json").write_text(json.dumps(summary(funded())))
    written = []
    for number, zone in enumerate(("UTC", "Asia/Tokyo")):
        out = tmp_path / str(number)
        out.mkdir()
        environment = os.environ | {"PYTHONHASHSEED": str(number), "TZ": zone, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, tmp_path / "summary.json", out],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[2],
        )
        written.append(done.stdout)
    assert written[0] == written[1]
    assert {"memo.pdf", "memo.html", "memo.md"} <= {
        row.split()[0] for row in written[0].splitlines()
    }


def test_memo_that_must_not_be_acted_on_is_marked_in_every_format():
    run = summary(clear_winner())
    for failed in (False, True):
        if failed:
            run["sampler"] |= {"converged": False, "reasons": ["12 divergences"]}
        pages = [page.extract_text() for page in read_pdf(pdf(run, drawn=False)).pages]
        assert all(("DO NOT ACT" in solid_words(page)) == failed for page in pages)
        assert ('class="watermark"' in html(run, drawn=False)) == failed
        assert ("> **NOT CONVERGED – DO NOT ACT**" in markdown(run)) == failed


def solid_words(text):
    return re.sub(r"\s+", " ", text)


def test_html_needs_nothing_from_anywhere():
    document = html(summary(funded()), particulars=STATED)
    addresses = re.findall(r'(?:src|href|action|data)="([^"]*)"', document)
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert "<script" not in document
    assert "@import" not in document
    assert set(re.findall(r"url\(([^)]*)\)", document)) == {
        address for address in re.findall(r"url\(([^)]*)\)", document) if address.startswith("#")
    }
    assert "default-src 'none'" in document
    identifiers = re.findall(r'\bid="([^"]*)"', document)
    assert len(identifiers) == len(set(identifiers))
    assert {address[1:] for address in addresses if address.startswith("#")} <= set(identifiers)
    assert '<meta name="author" content="A. Planner">' in document
    assert '<html lang="en">' in document


def test_html_and_pdf_hold_the_figures_themselves():
    run = summary(split_decision())
    assert html(run).count("<svg ") == 2
    assert html(run, drawn=False) != html(run)
    assert len(pdf(run)) > len(pdf(run, drawn=False))
    assert BLANK not in html(run)


def test_text_in_figures_is_readable_at_the_size_it_is_printed():
    """Seven points or more; the SVG is set at its own width, 499 pt, the width of the text."""
    for base in (split_decision(), many_priced()):
        run = summary(base)
        for svg in figures_in(run, memo_of(run)).values():
            width = float(re.search(r'width="([\d.]+)pt"', svg)[1])
            assert width == pytest.approx((210 - 34) / 25.4 * 72, rel=0.002)
            sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
            assert sizes
            assert min(sizes) >= 7.0


def test_figures_use_one_colour_an_option_and_the_page_themes_it():
    from reports.palette import PALETTE, colours_of

    run = summary(split_decision())
    memo = memo_of(run)
    for svg in figures_in(run, memo).values():
        for option, colour in colours_of(o["option"] for o in run["answers"][0]["options"]).items():
            assert option == "do_nothing" or colour.lower() in svg
    document = html(run)
    drawn = document[document.index("<svg") :]
    assert not any(colour.lower() in drawn.lower() for colour in PALETTE)
    assert "var(--ink)" in drawn


def test_every_character_that_is_shown_as_it_is_can_be_set():
    """PDF/UA refuses a character without a glyph: none is left to chance."""
    held = "".join(
        chr(number)
        for number in sorted(range(0x20, 0x30000), key=str)
        if chr(number) == plain(chr(number)) and Glyphs().shown(chr(number)) == chr(number)
    )
    assert len(held) > 5000
    memo = memo_of(summary(clear_winner()))
    runs = tuple(
        Run(text=isolated(held[i : i + 40]), strong=i % 80 == 0) for i in range(0, len(held), 40)
    )
    content = render_pdf(replace(memo, footer=runs and (runs,)), blank(memo))
    assert len(read_pdf(content).pages) >= 2


def test_figures_beside_their_rows_stand_in_the_run():
    for base in (split_decision(), funded(), unattainable()):
        run = summary(base)
        for svg in figures_in(run, memo_of(run)).values():
            beside = re.findall(r"<text[^>]*text-anchor: start[^>]*>([^<]*)</text>", svg)
            assert beside
            assert invented("; ".join(beside), run) == []


def test_glyphs_spell_out_what_no_font_holds():
    glyphs = Glyphs()
    assert glyphs.shown("ab \u05d0 \U0001f600") == "ab \u05d0 \U0001f600"
    assert glyphs.missing == set()
    assert glyphs.shown("\u65e5") == code_point("\u65e5") == "⟨U+65E5⟩"
    assert glyphs.missing == {"\u65e5"}
    note = "Characters that the fonts of this file lack"
    odd = split_decision()
    odd["options"][0]["description"] = "\u65e5\u672c"
    assert note in solid_words(text_of_pdf(pdf(summary(odd), drawn=False)))
    assert note not in solid_words(text_of_pdf(pdf(summary(split_decision()), drawn=False)))
    assert note not in markdown(summary(odd))


def test_long_words_may_break_and_others_are_left_alone():
    assert breakable("reliability_programme") == "reliability_programme".replace(
        "y_", "y_\u200b"
    ) or ("\u200b" in breakable("reliability_programme"))
    assert breakable("straggler_control") == "straggler_control"
    assert max(map(len, breakable("W" * 300).split("\u200b"))) <= 6
    assert breakable("W" * 300).replace("\u200b", "") == "W" * 300
    assert isolated("abc") == "abc"
    assert isolated("\u05d0") == "\u2068\u05d0\u2069"
