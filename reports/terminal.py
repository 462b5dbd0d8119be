"""The answer as text for a terminal."""

import io
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports import findings, terminal_remarks, terminal_tables, verdicts
from reports.numbers import TERMINAL
from reports.terminal_tables import WIDTH

NARROWEST = 80
"""A narrower terminal wraps lines itself: a figure is never cut."""

UNBOUNDED = 10_000
"""More columns than any table takes."""

LEGEND = (
    ("ranks first", "share of draws in which it gains most, ± simulation error"),
    (
        "SEA",
        "accelerators you would have to buy to get the same; fund it if it costs less. P10 / P50 /"
        " P90: the truth lies below with 10, 50, 90%",
    ),
    ("cannot", "no number of accelerators gives the same; the column says in how many draws"),
    (
        "expected regret",
        "productive accelerators lost on average by choosing it where another is better",
    ),
    ("worth anything", "share of draws in which it gains at all"),
)

DRIVER_LEGEND = (("top driver", "the uncertain parameter that most decides how the option fares"),)

COST_LEGEND = (
    ("pays", "share of draws in which it costs less than its SEA"),
    ("pays up to", "cost below which it pays in 50, 80, 95% of draws"),
    (
        "net value",
        "productive accelerators more than when the whole budget buys accelerators, on average",
    ),
    ("best choice", "share of draws in which it brings most at these costs"),
    ("expected loss", "productive accelerators lost on average by choosing it at these costs"),
)


def render(summary: Mapping[str, Any], *, width: int = WIDTH, color: bool = False) -> str:
    """The whole answer as text.

    Parameters
    ----------
    summary
        The run's summary.
    width
        Columns of the terminal.
    color
        Whether to emit colour codes.

    Returns
    -------
    str
        Lines no longer than `width` (at least 80) unless figures need more, without trailing
        blanks.
    """
    width = max(width, NARROWEST)
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        height=25,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    answers = summary["answers"]
    alarm = findings.unconverged(summary, TERMINAL)
    if alarm:
        _line(console, alarm, style="bold red")
        console.print()
    _line(console, terminal_remarks.headline(summary), style="bold")
    for answer in answers:
        console.print()
        if len(answers) > 1:
            console.rule(Text(f"regime: {findings.regime_name(answer, TERMINAL)}"), characters="─")
        _render_answer(console, summary, answer, width, compact=len(answers) > 1)
    if len(answers) > 1:
        console.print()
        _line(console, "What changes between the regimes", style="bold")
        _table(console, terminal_tables.regimes(answers, width))
    _legend(
        console,
        costs=verdicts.economics_of(answers[0]) is not None,
        driven=width >= WIDTH and bool(answers[0].get("drivers")),
    )
    for row, text in enumerate(terminal_remarks.closing(summary)):
        if row == 0:
            console.print()
        _line(console, text)
    if alarm:
        _line(console, alarm, style="bold red")
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _line(console: Console, text: str, *, style: str = "") -> None:
    console.print(Padding(Text(text, style=style), 0, expand=False))


def _table(console: Console, table: Table) -> None:
    """Print a table, beyond the width rather than with its figures cut."""
    width = console.width
    console.width = UNBOUNDED
    console.width = max(width, console.measure(table).maximum)
    console.print(table, crop=False)
    console.width = width


def _render_answer(
    console: Console,
    summary: Mapping[str, Any],
    answer: Mapping[str, Any],
    width: int,
    *,
    compact: bool,
) -> None:
    if compact:
        _line(console, terminal_tables.fates_line(answer))
    else:
        _table(console, terminal_tables.fates(answer))
    console.print()
    _table(console, terminal_tables.ranking(answer, width))
    console.print()
    economics = verdicts.economics_of(answer)
    if economics is not None:
        _line(console, "At these costs", style="bold")
        _table(console, terminal_tables.at_costs(answer, economics, width))
        console.print()
    for text in terminal_remarks.remarks(summary, answer, compact=compact):
        _line(console, text)
    if not compact and (rows := terminal_tables.own_influence(answer)):
        console.print()
        _line(console, "Each observation left out", style="bold")
        _table(console, terminal_tables.influence(rows))


def _legend(console: Console, *, costs: bool, driven: bool) -> None:
    console.print()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    driver = DRIVER_LEGEND if driven else ()
    for term, meaning in (*LEGEND, *driver, *(COST_LEGEND if costs else ())):
        table.add_row(Text(term, style="dim"), Text(meaning, style="dim"))
    console.print(table)
