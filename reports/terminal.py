"""The answer as text for a terminal."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports import drivers, evidence_checks, findings, verdicts
from reports.numbers import NOTHING, TERMINAL, spread_error

WIDTH = 100
NARROWEST = 80
"""A narrower terminal wraps lines itself: a figure is never cut."""

NARROW = 92
"""Below this many columns the table drops the errors that stand beside figures."""

UNBOUNDED = 10_000
"""More columns than any table takes."""

WIDEST_NAME, WIDEST_REGIME, NARROW_NAME = 28, 25, 16
WIDEST_IN_REGIMES = 22
"""Columns that a name may take before it goes on in the next line."""

SHOWN_INFLUENCES = 6

CANNOT = "cannot"
MATTERS = 0.05
"""Options are named in the comparison with the prior from this share of first place on."""

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
    _line(console, _headline(summary), style="bold")
    for answer in answers:
        console.print()
        if len(answers) > 1:
            console.rule(Text(f"regime: {findings.regime_name(answer, TERMINAL)}"), characters="─")
        _render_answer(console, summary, answer, width, compact=len(answers) > 1)
    if len(answers) > 1:
        console.print()
        _line(console, "What changes between the regimes", style="bold")
        _table(console, _regimes(answers, width))
    _legend(
        console,
        costs=verdicts.economics_of(answers[0]) is not None,
        driven=width >= WIDTH and bool(answers[0].get("drivers")),
    )
    for row, text in enumerate(_closing(summary)):
        if row == 0:
            console.print()
        _line(console, text)
    if alarm:
        _line(console, alarm, style="bold red")
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _line(console: Console, text: str, *, style: str = "", indent: int = 0) -> None:
    console.print(Padding(Text(text, style=style), (0, 0, 0, indent), expand=False))


def _table(console: Console, table: Table) -> None:
    """Print a table, beyond the width rather than with its figures cut."""
    width = console.width
    console.width = UNBOUNDED
    console.width = max(width, console.measure(table).maximum)
    console.print(table, crop=False)
    console.width = width


def _headline(summary: Mapping[str, Any]) -> str:
    question = summary["question"]
    baseline = summary["answers"][0]["baseline"]
    count = TERMINAL.amount
    parts = [
        TERMINAL.name(question["scenario"]),
        f"{count(baseline['accelerators'])} accelerators of a pool of {count(baseline['pool'])}",
        f"{count(question['window_days'])} days",
    ]
    if question["scale"] is not None:
        parts.append("re-planned to that size")
    if len(summary["answers"]) == 1:
        parts.append(f"regime {findings.regime_name(summary['answers'][0], TERMINAL)}")
    parts += [
        f"{TERMINAL.name(path)} = {TERMINAL.name(str(value))}"
        for path, value in question["overrides"].items()
    ]
    if question["solver"] != "exact":
        parts.append(f"solver {TERMINAL.name(question['solver'])}")
    parts.append(f"{count(question['draws'])} draws {findings.source_of_draws(question, TERMINAL)}")
    return " · ".join(parts)


def _render_answer(
    console: Console,
    summary: Mapping[str, Any],
    answer: Mapping[str, Any],
    width: int,
    *,
    compact: bool,
) -> None:
    if compact:
        _line(console, _baseline_line(answer))
    else:
        _table(console, _baseline(answer))
    console.print()
    _table(console, _ranking(answer, width))
    console.print()
    economics = verdicts.economics_of(answer)
    if economics is not None:
        _line(console, "At these costs", style="bold")
        _table(console, _at_costs(answer, economics, width))
        console.print()
    for text in _remarks(summary, answer, compact=compact):
        _line(console, text)
    if not compact and (rows := _own_influence(answer)):
        console.print()
        _line(console, "Each observation left out", style="bold")
        _table(console, _influence(rows))


def _baseline_line(answer: Mapping[str, Any]) -> str:
    baseline, effective = answer["baseline"], answer["effective_draws"]
    shares = ", ".join(
        f"{'productive (UCF)' if fate == 'productive' else fate}"
        f" {_spread_share(spread, 'mean', effective)}"
        for fate, spread in baseline["fates"].items()
    )
    marginal = _spread_amount(baseline["marginal_accelerator"], "mean", effective, ratio=True)
    ettr = _spread_share(baseline["ettr"], "mean", effective)
    return f"{shares}; ETTR {ettr}; the next accelerator brings {marginal}"


def _spread_share(spread: Mapping[str, Any], which: str, effective: float) -> str:
    if spread[which] is None:
        return NOTHING
    return TERMINAL.share(spread[which], spread_error(spread, effective), effective)


def _spread_amount(
    spread: Mapping[str, Any], which: str, effective: float, *, ratio: bool = False
) -> str:
    return TERMINAL.amount(spread[which], spread_error(spread, effective), ratio=ratio)


def _baseline(answer: Mapping[str, Any]) -> Table:
    baseline, effective = answer["baseline"], answer["effective_draws"]
    point = baseline["point"]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    table.add_column("fate of accelerator-time")
    for head in ("mean", "P10", "P90", "scenario's own values"):
        table.add_column(head, justify="right")

    def shares(label: str, spread: Mapping[str, Any], own: float) -> None:
        cells = (_spread_share(spread, key, effective) for key in ("mean", "p10", "p90"))
        table.add_row(label, *cells, TERMINAL.share(own, 0.0, effective))

    def amounts(label: str, spread: Mapping[str, Any], own: float | None, *, ratio: bool) -> None:
        keys = ("mean", "p10", "p90")
        cells = (_spread_amount(spread, key, effective, ratio=ratio) for key in keys)
        table.add_row(label, *cells, TERMINAL.amount(own, 0.0, ratio=ratio))

    for fate, spread in baseline["fates"].items():
        shares(f"  {fate}", spread, point["fates"][fate])
    shares("useful capacity (UCF)", baseline["ucf"], point["ucf"])
    shares("the job's working time (ETTR)", baseline["ettr"], point["ettr"])
    amounts(
        "productive accelerators",
        baseline["productive_accelerators"],
        point["productive_accelerators"],
        ratio=False,
    )
    amounts(
        "one more accelerator brings",
        baseline["marginal_accelerator"],
        point["marginal_accelerator"],
        ratio=True,
    )
    return table


def _ranking(answer: Mapping[str, Any], width: int) -> Table:
    effective, wide = answer["effective_draws"], width >= NARROW
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    names = [TERMINAL.name(option["option"]) for option in answer["options"]]
    room = WIDEST_NAME if wide else NARROW_NAME
    table.add_column("option", overflow="fold", width=min(room, max(map(len, names))))
    table.add_column("ranks first" if wide else "ranks\nfirst", justify="right", no_wrap=True)
    for head in ("SEA\nP10", "SEA\nP50", "SEA\nP90"):
        table.add_column(head, justify="right", no_wrap=True)
    cannot = "cannot be\nbought" if wide else "cannot\nbe\nbought"
    heads = (cannot, "expected\nregret", "worth\nanything")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    driven = width >= WIDTH and bool(answer.get("drivers"))
    if driven:
        table.add_column("top\ndriver", no_wrap=True)
    for option in answer["options"]:
        share, regret = TERMINAL.share_with_error, TERMINAL.amount_with_error
        first = (share if wide else TERMINAL.share)(
            option["p_first"], option["p_first_mcse"], effective
        )
        lost = (regret if wide else TERMINAL.amount)(
            option["expected_regret"], option["expected_regret_mcse"]
        )
        baseline = option["option"] == findings.DO_NOTHING
        table.add_row(
            TERMINAL.name(option["option"]),
            first,
            *(TERMINAL.sea(quantile, cannot=CANNOT) for quantile in option["sea"].values()),
            NOTHING if baseline else TERMINAL.estimate(option["p_unattainable"], effective),
            lost,
            NOTHING if baseline else TERMINAL.estimate(option["p_positive"], effective),
            *([drivers.top_driver(answer, option["option"]) or NOTHING] if driven else []),
            style="bold" if option["option"] == answer["recommended"] else "",
        )
    return table


def _at_costs(answer: Mapping[str, Any], economics: Mapping[str, Any], width: int) -> Table:
    effective, wide = answer["effective_draws"], width >= NARROW
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    names = [TERMINAL.name(option["option"]) for option in answer["options"]]
    room = WIDEST_NAME if wide else NARROW_NAME
    table.add_column("option", overflow="fold", width=min(room, max(map(len, names))))
    levels = list(economics["options"][0]["break_even"])
    if not wide:
        levels = [levels[0], levels[-1]]
    heads = ("cost", "pays", *(f"up to\n{level}" for level in levels))
    heads += ("net\nvalue", "best\nchoice", "expected\nloss")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)

    def amount(record: Mapping[str, Any] | None) -> str:
        if record is None:
            return NOTHING
        write = TERMINAL.amount_with_error if wide else TERMINAL.amount
        return write(record["value"], record["mcse"])

    def probability(record: Mapping[str, Any] | None) -> str:
        return NOTHING if record is None else TERMINAL.estimate(record["value"], effective)

    for option in answer["options"]:
        one = verdicts.appraisal_of(economics, option["option"])
        baseline = option["option"] == findings.DO_NOTHING
        loss = verdicts.OVER_BUDGET if not one["feasible"] else amount(one["expected_loss"])
        chosen = option["option"] == economics["decision"]["option"]
        table.add_row(
            TERMINAL.name(option["option"]),
            NOTHING if baseline else TERMINAL.amount(one["cost"]["mean"]),
            probability(one["p_pays"]),
            *(
                NOTHING if baseline else TERMINAL.sea(one["break_even"][level], cannot=CANNOT)
                for level in levels
            ),
            NOTHING if baseline else amount(one["net_value"]),
            probability(one["p_best"]),
            loss,
            style="bold" if chosen else "",
        )
    return table


def _remarks(
    summary: Mapping[str, Any], answer: Mapping[str, Any], *, compact: bool
) -> Iterator[str]:
    """Sentences under a table."""
    economics = verdicts.economics_of(answer)
    label = "Recommendation"
    if economics is not None:
        yield f"Decision: {verdicts.verdict(answer, TERMINAL)}"
        if not compact:
            yield f"Risk: {verdicts.confidence(answer, TERMINAL)}"
            yield f"Information: {verdicts.information(economics, TERMINAL)}"
            yield verdicts.horizon(economics, TERMINAL)
        label = "Before costs"
    yield f"{label}: {findings.recommendation(answer, TERMINAL)}"
    if answer["separation"] is not None:
        if not compact:
            yield f"Simulation: {findings.separation_by_simulation(answer, TERMINAL)}"
        for pair in (answer["separation"], findings.further_separation(answer)):
            if pair is not None:
                yield f"Evidence: {findings.separation_by_evidence(answer, TERMINAL, pair)}"
    if decided := drivers.deciding(summary, answer, TERMINAL):
        yield f"Drivers: {decided}"
    if not compact:
        for sentence in drivers.switching(summary, answer, TERMINAL):
            yield f"Switching: {sentence}"
    yield from (f"Leave one out: {s}" for s in evidence_checks.influence_lines(answer, TERMINAL))
    yield f"Scope: {findings.scope(answer, TERMINAL)}"
    if not compact and summary["question"]["source"] != "prior":
        yield from _prior_against_posterior(summary, answer)
    for text in (
        findings.formulas(answer, TERMINAL),
        findings.ties(answer, TERMINAL),
        findings.past_peak(answer, TERMINAL),
        findings.few_draws(answer, TERMINAL),
        findings.small_job(answer, TERMINAL),
    ):
        if text:
            yield text


def _prior_against_posterior(
    summary: Mapping[str, Any], answer: Mapping[str, Any]
) -> Iterator[str]:
    effective = answer["effective_draws"]
    shares = [
        f"{TERMINAL.name(option['option'])} {TERMINAL.estimate(option['p_first_prior'], effective)}"
        f" → {TERMINAL.estimate(option['p_first'], effective)}"
        for option in answer["options"]
        if option["p_first_prior"] is not None
        and max(option["p_first"], option["p_first_prior"]) >= MATTERS
    ]
    if shares:
        after = "posterior" if summary["question"]["source"] == "posterior" else "these draws"
        yield f"First place, priors → {after}: {', '.join(shares)}"


def _own_influence(answer: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table of influence, where an observation is the planner's own or must be named."""
    records = evidence_checks.influence_of(answer)
    if not any(one["own"] or one["notable"] for one in records):
        return []
    return evidence_checks.influence_rows(answer, TERMINAL, limit=SHOWN_INFLUENCES)


def _influence(rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    heading, *body = rows
    for place, head in enumerate(heading):
        figures = place in (2, 3)
        table.add_column(head, justify="right" if figures else "left", overflow="fold")
    for row in body:
        table.add_row(*row)
    return table


def _regimes(answers: Sequence[Mapping[str, Any]], width: int) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    wide = width >= NARROW
    table.add_column("regime", overflow="fold", max_width=WIDEST_REGIME if wide else NARROW_NAME)
    room = WIDEST_IN_REGIMES if wide else NARROW_NAME
    table.add_column("leader", overflow="fold", max_width=room)
    table.add_column("ranks\nfirst", justify="right", no_wrap=True)
    table.add_column("its SEA\nP50", justify="right", no_wrap=True)
    table.add_column(
        "decision" if verdicts.economics_of(answers[0]) else "recommended",
        overflow="fold",
        max_width=room,
    )
    table.add_column("out of\nscope", justify="right", no_wrap=True)
    for answer in answers:
        leader = findings.option_of(answer, answer["leader"])
        table.add_row(
            findings.regime_name(answer, TERMINAL),
            TERMINAL.name(leader["option"]),
            findings.first_place(answer, leader["option"], TERMINAL),
            TERMINAL.sea(leader["sea"]["p50"], cannot=CANNOT),
            verdicts.short_verdict(answer, TERMINAL)
            if verdicts.economics_of(answer)
            else TERMINAL.name(answer["recommended"]),
            TERMINAL.estimate(answer["p_out_of_scope"], answer["effective_draws"]),
        )
    return table


def _legend(console: Console, *, costs: bool, driven: bool) -> None:
    console.print()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    driver = DRIVER_LEGEND if driven else ()
    for term, meaning in (*LEGEND, *driver, *(COST_LEGEND if costs else ())):
        table.add_row(Text(term, style="dim"), Text(meaning, style="dim"))
    console.print(table)


def _closing(summary: Mapping[str, Any]) -> Iterator[str]:
    """Sampler diagnostics, notes and warnings."""
    for place, sentence in enumerate(evidence_checks.check_lines(summary, TERMINAL)):
        yield sentence if place else f"Predictive check: {sentence}"
    sampler = summary["sampler"]
    if sampler is not None:
        yield findings.sampler_line(sampler, TERMINAL)
    yield from (f"Note: {TERMINAL.name(text)}" for text in summary["notes"])
    yield from (f"Warning: {TERMINAL.name(text)}" for text in summary["warnings"])
