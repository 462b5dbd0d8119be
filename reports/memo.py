"""The funding memo: a run's summary as PDF, HTML and Markdown that a director understands."""

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.memo_content import Particulars
    from reports.wording import Wording

SUMMARY = "summary.json"
FORMAT = 1
"""Version of the summary that is understood."""

FORMATS = ("pdf", "html", "md")
ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

EXAMPLES = """\
examples:
  python -m reports.memo runs/reference_405b_16k
  python -m reports.memo runs/board --format pdf --title "Network or reliability?" \\
      --author "Capacity planning" --decision-date 2026-09-30 --request "Release the Q4 tranche"
  python -m reports.memo runs/august --compare runs/july
      with what changed since the run of July, and why
  python -m reports.memo runs/board --template ours.toml
      with the sentences of a file in place of those that ship (reports/templates/en.toml)
"""


def read_summary(run: Path) -> Mapping[str, Any]:
    """The summary of a run.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError, LookupError, TypeError
        If it is not one of this version.
    """
    summary: Mapping[str, Any] = json.loads((run / SUMMARY).read_text(encoding="utf-8"))
    if summary["format"] != FORMAT:
        msg = f"format {summary['format']!r}, {FORMAT} is understood"
        raise ValueError(msg)
    return summary


def write_memo(
    summary: Mapping[str, Any],
    directory: Path,
    *,
    formats: Sequence[str] = FORMATS,
    particulars: "Particulars | None" = None,
    wording: "Wording | None" = None,
    comparison: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write the memo of a run and its figures.

    Parameters
    ----------
    summary
        The run's summary.
    directory
        Where to.
    formats
        Any of pdf, html and md; figures beside the memo are written with md, which links them.
    particulars, wording, comparison
        As of ``reports.memo_content.memo_of``.

    Returns
    -------
    list of Path
        The files written, each complete.

    Raises
    ------
    OSError
        If a file cannot be written.
    LookupError, TypeError, AttributeError
        If the summary is not one of this version.
    """
    from reports.document import Figure
    from reports.memo_content import memo_of
    from reports.print_figures import draw
    from reports.voice import voice_of

    memo = memo_of(summary, particulars, wording=wording, comparison=comparison)
    voice = voice_of(wording)
    figures = {
        block.name: draw(block.name, voice, summary)
        for block in memo.blocks
        if isinstance(block, Figure)
    }
    written = []
    with ThreadPoolExecutor(max_workers=1) as beside:
        # Typesetting waits for no Python: the pictures are drawn meanwhile.
        setting = None
        if "pdf" in formats:
            from reports.memo_pdf import render_pdf

            setting = beside.submit(render_pdf, memo, figures)
        if "html" in formats:
            from reports.memo_html import render_html

            written.append(_put(directory / "memo.html", render_html(memo, figures).encode()))
        if "md" in formats:
            from reports.figures import write_figures
            from reports.memo_markdown import render_markdown

            written.append(_put(directory / "memo.md", render_markdown(memo).encode()))
            written += write_figures(summary, directory / "figures")
            written += [
                _put(directory / "figures" / f"{name}.svg", svg.encode())
                for name, svg in figures.items()
            ]
        if setting is not None:
            written.insert(0, _put(directory / "memo.pdf", setting.result()))
    return written


def _put(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        error.filename = str(path)
        raise
    return path


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reports.memo",
        description="Writes memo.pdf, memo.html, memo.md and figures/ of a run again from its"
        " summary.json.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="directory of a finished run")
    add(
        "--format",
        default=",".join(FORMATS),
        metavar="LIST",
        help="formats, any of pdf, html and md; default all (e.g. --format pdf,html)",
    )
    add("--title", default="", metavar="TEXT", help='heading (e.g. --title "Network or spares?")')
    add("--author", default="", metavar="TEXT", help='who prepared it (e.g. --author "A. Planner")')
    add(
        "--decision-date",
        default="",
        metavar="DATE",
        help="day of the decision, ISO 8601; also the date of the PDF (e.g. 2026-09-30)",
    )
    add(
        "--request",
        default="",
        metavar="TEXT",
        help='what is asked of whom (e.g. --request "Board: release the Q4 tranche")',
    )
    add(
        "--template",
        type=Path,
        metavar="FILE",
        help="TOML with sentences in place of those that ship (e.g. --template ours.toml)",
    )
    add(
        "--language",
        default="en",
        metavar="TAG",
        help="wording that ships; default en (e.g. --language en)",
    )
    add(
        "--compare",
        type=Path,
        metavar="OTHER_RUN",
        help="tell what changed since this older run, and why (e.g. --compare runs/july)",
    )
    return parser


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Options that were looked at: what they mean, and what is wrong with them.

    Parameters
    ----------
    formats
        Formats asked for.
    wording
        Words of the memo, None where they cannot be used.
    problems
        Message, source and remedy of everything that is wrong.
    """

    formats: tuple[str, ...]
    wording: "Wording | None"
    problems: tuple[tuple[str, str, str], ...]


def check(options: argparse.Namespace) -> Checked:
    """Look at the options that a parser cannot judge."""
    from reports.wording import WordingError, replaced, shipped

    problems = []
    formats = tuple(dict.fromkeys(one.strip() for one in options.format.split(",")))
    if unknown := [one for one in formats if one not in FORMATS]:
        message = f"{', '.join(map(repr, unknown))} is no format"
        problems.append((message, "--format", f"any of {', '.join(FORMATS)}"))
    try:
        if options.decision_date and not ISO_DAY.fullmatch(options.decision_date):
            raise ValueError  # noqa: TRY301 - the same complaint as of a day that does not exist
        if options.decision_date:
            date.fromisoformat(options.decision_date)
    except ValueError:
        message = f"{options.decision_date!r} is no day"
        problems.append((message, "--decision-date", "write it as 2026-09-30"))
    wording = None
    try:
        if options.template is None:
            wording = shipped(options.language)
        else:
            wording = replaced(options.template, options.language)
    except WordingError as error:
        source = "--language" if options.template is None else str(options.template)
        problems += [(reason, source, "") for reason in error.reasons]
    except OSError as error:
        problems.append((error.strerror or str(error), str(options.template), ""))
    return Checked(formats=formats, wording=wording, problems=tuple(problems))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the memo and the figures of a run directory.

    Parameters
    ----------
    argv
        Arguments without the program's name; by default those of the process.

    Returns
    -------
    int
        0, 2 where something cannot be read or written, 130 when interrupted.
    """
    from model.command import command
    from model.errors import InputError, Problem

    @command
    def run(arguments: Sequence[str] | None) -> int:
        options = build_parser().parse_args(arguments)
        checked = check(options)
        if checked.problems:
            raise InputError(
                Problem(message=message, source=source, remedy=remedy)
                for message, source, remedy in checked.problems
            )
        from reports.memo_content import Particulars

        particulars = Particulars(
            title=options.title,
            author=options.author,
            decision_date=options.decision_date,
            request=options.request,
        )
        try:
            summary = read_summary(options.run)
            comparison = None
            if options.compare is not None:
                from studies.compare import compare

                comparison = compare(options.run, options.compare)
            written = write_memo(
                summary,
                options.run,
                formats=checked.formats,
                particulars=particulars,
                wording=checked.wording,
                comparison=comparison,
            )
        except OSError as error:
            msg = error.strerror or str(error)
            raise InputError.single(msg, source=str(error.filename or options.run)) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            msg = f"not the summary of a run ({type(error).__name__}: {error})"
            source = str(options.run / SUMMARY)
            raise InputError.single(msg, source=source, remedy="rank again with --force") from error
        for path in written:
            print(path)
        return 0

    return run(argv)


if __name__ == "__main__":
    raise SystemExit(main())
