"""The funding memo: a run's summary in two pages that a director understands."""

import importlib.resources
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

from reports import drivers, findings, verdicts
from reports.markdown import MEMO, escaped
from reports.memo_tables import assumptions_table, options_table, regimes_table
from reports.numbers import spelt, spread_error

SUMMARY = "summary.json"
FORMAT = 1
"""Version of the summary that is understood."""

DIGEST = 16
"""Characters of a digest that tell it from any other here; the whole stands in provenance.json."""

LEGEND = (
    "*Ceiling: the number of accelerators whose price the option may cost at most, to pay in 90%,"
    " 50% and 10% of draws; below zero it takes capacity away. Cannot be bought: share of draws in"
    " which no number of accelerators gives the same. Expected loss: productive accelerators lost"
    " on average by choosing it where another option is better. ± is simulation error.*"
)

COST_LEGEND = (
    "*Costs in accelerators. P(pays): share of draws in which it costs less than its break-even;"
    " it pays in 50%, 80%, 95% of draws up to the cost shown. Net value: productive accelerators"
    " beyond those that the whole budget buys. ± is simulation error.*"
)

COST_FIGURES = (
    ", [break-even and cost](figures/break_even.png),"
    " [acceptability](figures/acceptability.png), [expected loss](figures/expected_loss.png)"
)


def render_memo(summary: Mapping[str, Any]) -> str:
    """The memo as Markdown.

    Parameters
    ----------
    summary
        The run's summary; the memo details its first answer and tabulates the others.

    Returns
    -------
    str
        At most two printed pages; every figure in it stands in the summary.
    """
    answer = summary["answers"][0]
    question = summary["question"]
    template = importlib.resources.files("reports").joinpath("templates/memo.md")
    text = Template(template.read_text(encoding="utf-8")).substitute(
        scenario=MEMO.name(question["scenario"]),
        alarms=_alarms(summary, answer),
        ask=_ask(summary, answer),
        alternatives=_alternatives(answer),
        confidence=_confidence(summary, answer),
        caveat_scope=_scope(answer),
        caveat_costs=_caveat_costs(answer),
        baseline=_baseline(summary, answer),
        regime=findings.regime_name(answer, MEMO),
        options=options_table(answer),
        legend=LEGEND if verdicts.economics_of(answer) is None else COST_LEGEND,
        separation=_separation(answer),
        drivers=_drivers(summary, answer),
        regimes=regimes_table(summary["answers"]),
        draws=MEMO.amount(question["draws"]),
        source=findings.source_of_draws(question, MEMO),
        assumptions=assumptions_table(summary),
        missing=_missing(summary),
        footer=_footer(summary, answer),
        more_figures="" if verdicts.economics_of(answer) is None else COST_FIGURES,
    )
    text = re.sub(r"\n{3,}", "\n\n", text)
    # A figure and its error, or a bound and its sign, are never torn apart by a line's end.
    for glued in (" ± ", "< ", "> "):
        text = re.sub(rf"(?<=[\d |]){glued}(?=\d)", glued.replace(" ", "\u00a0"), text)
    return text


def _alarms(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """What a reader must know before the first number."""
    alarms = [
        findings.unconverged(summary, MEMO),
        findings.small_job(answer, MEMO),
        findings.mostly_out_of_scope(answer, MEMO),
        findings.few_draws(answer, MEMO),
    ]
    if not summary["question"]["evidence"] and not summary["question"]["draws_file"]:
        alarms.append("Priors only: nothing measured on any system stands behind these figures.")
    return "\n>\n".join(f"> **{alarm}**" for alarm in alarms if alarm)


def _described(option: Mapping[str, Any]) -> str:
    text = f"**{MEMO.name(option['option'])}**"
    description = MEMO.name(option["description"].rstrip(". \n"))
    return f"{text} ({description})" if description else text


def _ask(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    if findings.unconverged(summary, MEMO):
        return f"None can be made from this run. If its figures held: {_proposal(answer)}"
    return _proposal(answer)


def _proposal(answer: Mapping[str, Any]) -> str:
    if verdicts.economics_of(answer) is not None:
        regime = f"Regime: {findings.regime_name(answer, MEMO)}."
        return f"{verdicts.verdict(answer, MEMO)} {regime}"
    chosen = findings.option_of(answer, answer["recommended"])
    regime = f"Regime: {findings.regime_name(answer, MEMO)}."
    if chosen["option"] == findings.DO_NOTHING:
        return f"{findings.recommendation(answer, MEMO)} {regime}"
    return f"Fund {_described(chosen)}. {findings.price_ceiling(chosen, MEMO)} {regime}"


def _alternatives(answer: Mapping[str, Any]) -> str:
    """The option next in line, and doing nothing."""
    if verdicts.economics_of(answer) is not None:
        return _alternatives_at_costs(answer)
    leader, chosen = answer["leader"], answer["recommended"]
    others = [
        option["option"]
        for option in answer["options"]
        if option["option"] not in (chosen, findings.DO_NOTHING)
    ]
    if chosen == findings.DO_NOTHING:
        if not others:
            return "There are none."
        rival = findings.option_of(answer, others[0])
        gain = MEMO.amount_with_error(rival["gain_mean"], rival["gain_mcse"])
        return f"{_described(rival)} changes output by {gain} productive accelerators on average."
    idle = findings.regret_of(answer, findings.DO_NOTHING, MEMO)
    text = (
        f"Doing nothing costs nothing and forgoes {idle} productive accelerators on average against"
        " the best choice in every draw."
    )
    if not others:
        return text
    name = leader if leader in others else others[0]
    rival = findings.option_of(answer, name)
    lead = "ranks first most often" if name == leader else "is next"
    return (
        f"{_described(rival)} {lead}, in {findings.first_place(answer, name, MEMO)} of draws, at an"
        f" expected loss of {findings.regret_of(answer, name, MEMO)} productive accelerators."
        f" {findings.price_ceiling(rival, MEMO)} {text}"
    )


def _alternatives_at_costs(answer: Mapping[str, Any]) -> str:
    economics = answer["economics"]
    rival = economics["decision"]["rival"]
    idle = verdicts.appraisal_of(economics, findings.DO_NOTHING)
    accelerators = (
        "Spending the whole budget on accelerators loses"
        f" {verdicts.estimate(idle['expected_loss'], MEMO)} productive accelerators on average"
        " against the best choice in every draw."
    )
    if rival is None:
        return "There are none within the budget."
    if rival == findings.DO_NOTHING:
        return accelerators
    one = verdicts.appraisal_of(economics, rival)
    text = (
        f"{_described(findings.option_of(answer, rival))} is next, at"
        f" {MEMO.amount(one['cost']['mean'])} accelerators: it costs less than it is worth in"
        f" {verdicts.share_in_words(one['p_pays'], answer, MEMO)} of draws, and its expected loss"
        f" is {verdicts.estimate(one['expected_loss'], MEMO)} productive accelerators."
    )
    if economics["decision"]["option"] == findings.DO_NOTHING:
        return text
    return f"{text} {accelerators}"


def _caveat_costs(answer: Mapping[str, Any]) -> str:
    economics = verdicts.economics_of(answer)
    return "No prices were given." if economics is None else verdicts.horizon(economics, MEMO)


def _confidence(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    economics = verdicts.economics_of(answer)
    if economics is not None:
        return f"{verdicts.confidence(answer, MEMO)} {verdicts.information(economics, MEMO)}"
    chosen = findings.option_of(answer, answer["recommended"])
    name = findings.named(chosen["option"], MEMO)
    effective = answer["effective_draws"]
    first = findings.first_place(answer, chosen["option"], MEMO)
    text = findings.opening(f"{name} is best in {first} of draws (± is simulation error only)")
    prior = chosen["p_first_prior"]
    if prior is not None and summary["question"]["source"] != "prior":
        before = spelt(MEMO.estimate(prior, effective))
        text += f"; before any evidence in {before}"
    text += "."
    if chosen["expected_regret"] > 0:
        text += (
            " Where it is not, another option would have been better: over all draws that loses"
            f" {findings.regret_of(answer, chosen['option'], MEMO)} productive accelerators on"
            " average"
        )
        if chosen["regret_p90"] > 0:
            # A tail quantile is known about half as well as the mean.
            worst = MEMO.amount(chosen["regret_p90"], 2 * chosen["expected_regret_mcse"])
            text += f", and {worst} or more in one draw of ten"
        text += "."
    if chosen["option"] != answer["leader"]:
        leader = answer["leader"]
        text += (
            f" {findings.opening(findings.named(leader, MEMO))} is best more often"
            f" ({findings.first_place(answer, leader, MEMO)}), but loses more where it is not"
            f" ({findings.regret_of(answer, leader, MEMO)} on average), so the two measures"
            " disagree and this memo follows the smaller loss."
        )
        if not findings.losses_settled(answer):
            text += f" {findings.UNSETTLED}"
    return text


def _scope(answer: Mapping[str, Any]) -> str:
    remarks = (
        findings.scope(answer, MEMO),
        findings.past_peak(answer, MEMO),
        findings.ties(answer, MEMO),
    )
    return " ".join(remark for remark in remarks if remark)


def _baseline(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    baseline, effective = answer["baseline"], answer["effective_draws"]

    def share(spread: Mapping[str, Any], key: str) -> str:
        error = spread_error(spread, effective)
        return MEMO.share(spread[key], error, effective)

    def amount(spread: Mapping[str, Any], key: str, *, ratio: bool = False) -> str:
        return MEMO.amount(spread[key], spread_error(spread, effective), ratio=ratio)

    fates, productive = baseline["fates"], baseline["productive_accelerators"]
    text = (
        f"The job runs on {MEMO.amount(baseline['accelerators'])} of"
        f" {MEMO.amount(baseline['pool'])} accelerators for"
        f" {MEMO.amount(summary['question']['window_days'])} days. Of their time"
        f" {share(fates['productive'], 'mean')} is productive (P10 to P90:"
        f" {share(fates['productive'], 'p10')} to {share(fates['productive'], 'p90')}),"
        f" {share(fates['blocked'], 'mean')} is spent waiting,"
        f" {share(fates['discarded'], 'mean')} on work lost to failures, and"
        f" {share(fates['unavailable'], 'mean')} is unavailable (spare or under repair). That is"
        f" {amount(productive, 'mean')} productive accelerators"
        f" ({amount(productive, 'p10')} to {amount(productive, 'p90')})."
    )
    marginal = baseline["marginal_accelerator"]
    if marginal["mean"] is not None:
        text += f" One accelerator more would bring {amount(marginal, 'mean', ratio=True)} of one."
    return text


def _separation(answer: Mapping[str, Any]) -> str:
    if answer["separation"] is None:
        return "There is only one option."
    evidence = [
        findings.separation_by_evidence(answer, MEMO, pair)
        for pair in (answer["separation"], findings.further_separation(answer))
        if pair is not None
    ]
    return (
        f"*By simulation.* {findings.separation_by_simulation(answer, MEMO)}\n\n"
        f"*By the evidence.* {' '.join(evidence)}"
    )


def _drivers(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """A section of its own, empty where drivers were not asked for."""
    decided = drivers.deciding(summary, answer, MEMO)
    if not decided:
        return ""
    # The table of regimes takes the room of all sentences but the leading parameter's.
    told = drivers.switching(summary, answer, MEMO)[: 1 if len(summary["answers"]) > 1 else None]
    flips = " ".join(told)
    before = "Before costs. " if verdicts.economics_of(answer) is not None else ""
    return (
        f"## What drives the choice\n\n{before}{decided}\n\n"
        f"*Where the choice would switch, one assumption set and the others as uncertain as they"
        f" are (95% interval of the simulation).* {flips}\n\n"
    )


def _missing(summary: Mapping[str, Any]) -> str:
    missing = []
    answer = summary["answers"][0]
    if not answer.get("drivers"):
        missing.append("This memo does not say which assumption drives the choice.")
    if verdicts.economics_of(answer) is None:
        missing.append(
            "With a cost for each option this memo would say how often each pays, and what"
            " measuring first would be worth."
        )
    if any(not parameter["owner"] for parameter in summary["parameters"]):
        missing.append("Assumptions without an owner need one before money is committed.")
    return " ".join(missing) or "Nothing that this memo could have held."


def _footer(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    return ". ".join(_footer_lines(summary, answer))


def _footer_lines(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[str]:
    provenance, question = summary["provenance"], summary["question"]
    effective = answer["effective_draws"]
    version = f"Fundworthy {escaped(str(provenance['version']))}"
    if provenance["git_commit"]:
        version += f", commit {escaped(provenance['git_commit'][:DIGEST])}"
    yield (
        f"{version}; digest of the inputs {escaped(provenance['digest'][:DIGEST])}; seed"
        f" {provenance['seed']}; solver {escaped(question['solver'])}"
    )
    tied, outside = answer["tied_draws"], answer["p_out_of_scope"]
    yield (
        f"{MEMO.amount(question['draws'])} draws, {MEMO.amount(effective)} effective; largest"
        f" share, with Monte Carlo error, {findings.first_place(answer, answer['leader'], MEMO)};"
        " tied draws"
        f" {MEMO.estimate(tied, effective)}; out of scope"
        f" {MEMO.estimate(outside, effective)}"
    )
    sampler = summary["sampler"]
    if sampler is not None:
        yield findings.sampler_line(sampler, MEMO)
    overrides = [
        f"{escaped(path)} = {escaped(str(value))}" for path, value in question["overrides"].items()
    ]
    if overrides:
        yield f"Changed from the scenario: {'; '.join(overrides)}"
    yield from (f"Note: {escaped(note)}" for note in summary["notes"])
    yield from (f"Warning: {escaped(warning)}" for warning in summary["warnings"])


def write_memo(run: Path) -> list[Path]:
    """Write the memo and the figures of a run from its summary.

    Parameters
    ----------
    run
        Directory of the run.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    OSError
        If the summary cannot be read or the memo not written.
    ValueError, LookupError, TypeError, AttributeError
        If the summary is not one of this version.
    """
    from reports.figures import write_figures

    summary = json.loads((run / SUMMARY).read_text(encoding="utf-8"))
    if summary["format"] != FORMAT:
        msg = f"format {summary['format']!r}, {FORMAT} is understood"
        raise ValueError(msg)
    memo = render_memo(summary)
    path = run / "memo.md"
    path.write_text(memo, encoding="utf-8")
    return [path, *write_figures(summary, run / "figures")]


HELP = """\
usage: python -m reports.memo [-h] RUN

Write memo.md and figures/ of a run again from its summary.json.

  RUN         directory of a finished run

example: python -m reports.memo runs/reference_405b_16k
"""


def main(argv: list[str] | None = None) -> int:
    """Write the memo and the figures of a run directory.

    Parameters
    ----------
    argv
        Arguments without the program's name; by default those of the process.

    Returns
    -------
    int
        0, or 2 where the run cannot be read or written.
    """
    import sys

    from model.errors import FundworthyError, InputError

    arguments = sys.argv[1:] if argv is None else argv
    if "-h" in arguments or "--help" in arguments:
        print(HELP, end="")
        return 0
    try:
        if len(arguments) != 1 or arguments[0].startswith("-"):
            msg = "one run directory is expected"
            raise InputError.single(msg, remedy="`python -m reports.memo --help` explains")
        run = Path(arguments[0])
        try:
            written = write_memo(run)
        except OSError as error:
            msg = error.strerror or str(error)
            raise InputError.single(msg, source=str(error.filename or run)) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            msg = f"not the summary of a run ({type(error).__name__}: {error})"
            source = str(run / SUMMARY)
            raise InputError.single(msg, source=source, remedy="rank again with --force") from error
    except FundworthyError as error:
        print(error, file=sys.stderr)
        return 2
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
