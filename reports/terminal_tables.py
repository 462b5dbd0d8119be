"""Tables for a terminal: where accelerator-time goes, the ranking, costs, influence, regimes."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from reports import drivers, evidence_checks, findings, verdicts
from reports.numbers import NOTHING, TERMINAL, spread_error

WIDTH = 100
"""From this many columns on the ranking names what decides how each option fares."""

NARROW = 92
"""Below this many columns the table drops the errors that stand beside figures."""

WIDEST_NAME, WIDEST_REGIME, NARROW_NAME = 28, 25, 16
WIDEST_IN_REGIMES = 22
"""Columns that a name may take before it goes on in the next line."""

SHOWN_INFLUENCES = 6

CANNOT = "cannot"


def _new_table(options: Sequence[Mapping[str, Any]] = (), *, wide: bool = True) -> Table:
    """An empty table; of options, with the column of their names."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    if options:
        longest = max(len(TERMINAL.name(option["option"])) for option in options)
        room = WIDEST_NAME if wide else NARROW_NAME
        table.add_column("option", overflow="fold", width=min(room, longest))
    return table


def fates(answer: Mapping[str, Any]) -> Table:
    """Where the accelerator-time of the baseline goes, and what it leaves."""
    baseline, effective = answer["baseline"], answer["effective_draws"]
    point = baseline["point"]
    table = _new_table()
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


def fates_line(answer: Mapping[str, Any]) -> str:
    """The means of the same in one line."""
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


def ranking(answer: Mapping[str, Any], width: int) -> Table:
    """The options in order, and how sure the order is."""
    effective, wide = answer["effective_draws"], width >= NARROW
    table = _new_table(answer["options"], wide=wide)
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


def at_costs(answer: Mapping[str, Any], economics: Mapping[str, Any], width: int) -> Table:
    """The options at what they cost."""
    effective, wide = answer["effective_draws"], width >= NARROW
    table = _new_table(answer["options"], wide=wide)
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


def own_influence(answer: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table of influence, where an observation is the planner's own or must be named."""
    records = evidence_checks.influence_of(answer)
    if not any(one["own"] or one["notable"] for one in records):
        return []
    return evidence_checks.influence_rows(answer, TERMINAL, limit=SHOWN_INFLUENCES)


def influence(rows: Sequence[tuple[str, ...]]) -> Table:
    """What leaving out each observation does, of rows with their heading first."""
    table = _new_table()
    heading, *body = rows
    for place, head in enumerate(heading):
        figures = place in (2, 3)
        table.add_column(head, justify="right" if figures else "left", overflow="fold")
    for row in body:
        table.add_row(*row)
    return table


def regimes(answers: Sequence[Mapping[str, Any]], width: int) -> Table:
    """Who leads in each regime, and what is recommended there."""
    table = _new_table()
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
