"""The page for the meeting: one HTML file on which costs and prices of a run can be moved."""

import argparse
import base64
import hashlib
import importlib.resources
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from reports import findings
from reports.document import Callout
from reports.memo_checks import forms
from reports.memo_decision import alarms
from reports.numbers import NARROW_NO_BREAK_SPACE, Notation, plain
from reports.palette import NEUTRAL, ON_DARK, PALETTE, colours_of
from reports.voice import voice_of
from reports.wording import plain_text

PAGE = "page.html"

TEMPLATES = "templates"

LONGEST = 80
"""Characters of a name that a table or a legend shows; the whole stands in its tooltip."""

NOTHING_ON_DARK = "#9A9A9A"

WHOLE_DIGEST = 16

NOTATION = Notation(thousands=NARROW_NO_BREAK_SPACE)


def render_page(summary: Mapping[str, Any], movable: Mapping[str, Any]) -> str:
    """The page as HTML.

    Parameters
    ----------
    summary
        The run's summary.
    movable
        What moving its costs takes, as :func:`decision.what_if.what_if` gives it.

    Returns
    -------
    str
        One file: its style, its script and its data are inside, and its policy lets it fetch
        nothing.
    """
    words = tomllib.loads(_template("page_en.toml"))
    style, script = _template("page.css"), _template("page.js")
    content = {**_content(summary, movable, words), "words": _script_words(words)}
    policy = (
        f"default-src 'none'; style-src '{_source(style)}'; script-src '{_source(script)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    texts = {
        key: escape(text.format(**_facts(summary, movable, words)))
        for key, text in words["page"].items()
        if key != "commit"
    }
    return Template(_template("page.html")).substitute(
        texts,
        language=words["language"],
        policy=policy,
        style=style,
        script=script,
        data=_inside_script(content),
    )


def _template(name: str) -> str:
    path = importlib.resources.files("reports").joinpath(TEMPLATES, name)
    return path.read_text(encoding="utf-8")


def _source(text: str) -> str:
    """What a policy calls an inline style or script."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _inside_script(content: Mapping[str, Any]) -> str:
    """JSON that ends no element and starts no comment, whatever its texts hold."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _script_words(words: Mapping[str, Any]) -> dict[str, str]:
    return {**words["script"], "alarms": words["alarms"]["label"]}


def _facts(
    summary: Mapping[str, Any], movable: Mapping[str, Any], words: Mapping[str, Any]
) -> dict[str, str]:
    """Figures and names in the texts around the page."""
    question, provenance = summary["question"], summary["provenance"]
    baseline = summary["answers"][0]["baseline"]
    commit = provenance["git_commit"]
    written = words["page"]["commit"].format(commit=plain(commit)[:WHOLE_DIGEST]) if commit else ""
    return {
        "scenario": brief(question["scenario"]),
        "accelerators": NOTATION.amount(baseline["accelerators"]),
        "pool": NOTATION.amount(baseline["pool"]),
        "days": NOTATION.amount(question["window_days"]),
        "draws": NOTATION.amount(question["draws"]),
        "rows": NOTATION.amount(movable["answers"][0]["rows"]),
        "source": findings.source_of_draws(question, NOTATION),
        "reach": NOTATION.amount(max(answer["reach"] for answer in movable["answers"])),
        "error": f"{max(answer['error'] for answer in movable['answers']):.0e}",
        "version": plain(str(provenance["version"])),
        "commit": written,
        "digest": plain(provenance["digest"])[:WHOLE_DIGEST],
        "seed": str(provenance["seed"]),
    }


def brief(name: str) -> str:
    """A name on one line, cut with an ellipsis."""
    line = plain(name)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"


def _content(
    summary: Mapping[str, Any], movable: Mapping[str, Any], words: Mapping[str, Any]
) -> dict[str, Any]:
    """What the script works on."""
    names = movable["answers"][0]["options"]
    described = {
        option["option"]: option["description"] for option in summary["answers"][0]["options"]
    }
    colours = colours_of(names)
    dark = {**dict(zip(PALETTE, ON_DARK, strict=True)), NEUTRAL: NOTHING_ON_DARK}
    return {
        "run": {"scenario": brief(summary["question"]["scenario"])},
        **{
            key: movable[key]
            for key in ("price", "price_over_horizon", "budget", "risk_tolerance", "span")
        },
        "currency": plain(movable["currency"]),
        "options": [
            {
                "key": name,
                "name": plain(name),
                "short": words["script"]["do_nothing"] if index == 0 else brief(name),
                "description": words["script"]["nothing_described"]
                if index == 0
                else brief(described[name]),
                "light": colours[name],
                "dark": dark[colours[name]],
            }
            for index, name in enumerate(names)
        ],
        "answers": [
            {
                **one,
                "effective": answer["effective_draws"],
                "chosen": _chosen(answer),
                "unsound": bool(findings.unconverged(summary, NOTATION)),
                "alarms": list(_alarms(summary, answer, words["alarms"])),
            }
            for one, answer in zip(movable["answers"], summary["answers"], strict=True)
        ],
    }


def _chosen(answer: Mapping[str, Any]) -> str | None:
    """What the run itself decided at its costs; None without costs."""
    economics = answer.get("economics")
    return None if economics is None else str(economics["decision"]["option"])


def _alarms(
    summary: Mapping[str, Any], answer: Mapping[str, Any], words: Mapping[str, str]
) -> Iterator[str]:
    """What a reader must know before the first number: as in the memo, and what a page adds."""
    voice, alone = voice_of(), {**summary, "answers": [answer]}
    for block in (*alarms(voice, alone), *forms(voice, alone)):
        if isinstance(block, Callout):
            yield plain_text(block.text)
    economics = answer.get("economics")
    if economics is None:
        yield words["no_costs"]
    elif economics["decision"]["study"] is not None:
        yield words["studies"].format(study=brief(economics["decision"]["study"]["name"]))


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reports.page",
        description="Writes one HTML file on which the costs of a finished run, its budget and the"
        " price of an accelerator can be moved: it opens from a file share, fetches nothing, and"
        " decides by the rule of the program on the run's own draws.",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="directory of the run")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help=f"where it is written, default {PAGE} in RUN (e.g. --out meeting.html)",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page of a run.

    Parameters
    ----------
    argv
        Arguments without the program's name; by default those of the process.

    Returns
    -------
    int
        0, 2 where the run cannot be read or the page not be written, 130 when interrupted.
    """
    from model.command import command

    options = build_parser().parse_args(argv)

    @command
    def write() -> int:
        from decision.finished import read_past
        from decision.place import write_file
        from decision.what_if import what_if

        run = read_past(options.run, "RUN")
        file: Path = options.out or options.run / PAGE
        write_file(file, render_page(run.summary, what_if(run)))
        print(file)
        return 0

    return write()


if __name__ == "__main__":
    sys.exit(main())
