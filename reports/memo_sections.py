"""The memo's sections below the decision, in the order in which a board asks."""

from collections.abc import Iterator, Mapping
from typing import Any

from reports import findings, memo_tables, verdicts
from reports.document import Block, Bullets, Heading, Paragraph
from reports.findings import Answer
from reports.memo_checks import form_used
from reports.memo_figures import first_figure, second_figure
from reports.numbers import NOTHING
from reports.voice import LONGEST_CELL, Voice, tied
from reports.wording import Words, runs_of, sentences

DRIVERS_TOLD = 4
DIGEST = 16
"""Characters of a digest that tell it from any other here; the whole stands in provenance.json."""


def worth(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """What the cluster does today and what each option is worth, as figure and table."""
    answer = summary["answers"][0]
    yield Heading(text=voice.say("heading.worth"))
    yield Paragraph(text=_today(voice, summary, answer))
    yield first_figure(voice, summary)
    yield memo_tables.options_table(voice, answer)
    priced = verdicts.economics_of(answer) is not None
    yield Paragraph(text=voice.say("table.note_costs" if priced else "table.note"), small=True)


def _today(voice: Voice, summary: Mapping[str, Any], answer: Answer) -> Words:
    baseline, effective = answer["baseline"], answer["effective_draws"]
    fates, productive = baseline["fates"], baseline["productive_accelerators"]
    text = voice.say(
        "baseline.today",
        productive=voice.share_of(fates["productive"], "mean", effective),
        low=voice.share_of(fates["productive"], "p10", effective),
        high=voice.share_of(fates["productive"], "p90", effective),
        amount=voice.amount_of(productive, "mean", effective),
        accelerators=voice.notation.amount(baseline["accelerators"]),
        pool=voice.notation.amount(baseline["pool"]),
        days=voice.notation.amount(summary["question"]["window_days"]),
        blocked=voice.share_of(fates["blocked"], "mean", effective),
        discarded=voice.share_of(fates["discarded"], "mean", effective),
        unavailable=voice.share_of(fates["unavailable"], "mean", effective),
    )
    marginal: Words = ()
    if baseline["marginal_accelerator"]["mean"] is not None:
        amount = voice.amount_of(baseline["marginal_accelerator"], "mean", effective, ratio=True)
        marginal = voice.say("baseline.marginal", amount=amount)
    regime = voice.say("baseline.alone", regime=voice.regime(answer))
    return sentences(text, marginal, regime)


def told_apart(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """Whether the leading options differ, by simulation and by the evidence."""
    answer = summary["answers"][0]
    separation = answer["separation"]
    yield Heading(text=voice.say("heading.told_apart"))
    if separation is None:
        yield Paragraph(text=voice.say("told_apart.one"))
        return
    points = voice.notation.points(
        separation["share_difference"], separation["share_difference_mcse"]
    )
    settled = findings.simulation_settles(separation)
    simulation = voice.say(
        "told_apart.settled" if settled else "told_apart.unsettled",
        first=voice.opening(voice.option(separation["first"])),
        second=voice.option(separation["second"]),
        points=tied(points),
    )
    priced = verdicts.economics_of(answer) is not None
    if not priced:
        yield second_figure(voice, summary)
    pairs = (separation, findings.further_separation(answer))
    evidence = sentences(*(_pair(voice, answer, pair) for pair in pairs if pair is not None))
    yield Paragraph(
        text=sentences(
            voice.say("told_apart.before_costs") if priced else (),
            voice.say("told_apart.simulation", text=simulation),
            voice.say("told_apart.evidence", text=evidence),
        )
    )


def _pair(voice: Voice, answer: Answer, pair: Mapping[str, Any]) -> Words:
    first, second = voice.option(pair["first"]), voice.option(pair["second"])
    difference = pair["gain_difference"]
    facts = voice.say(
        "told_apart.facts",
        first=voice.opening(first),
        second=second,
        share=voice.share({"value": pair["p_beats"], "mcse": pair["p_beats_mcse"]}, answer),
        ahead=first if difference >= 0 else second,
        amount=voice.estimate({"value": abs(difference), "mcse": pair["gain_difference_mcse"]}),
        material=voice.notation.amount(pair["material"]),
    )
    return sentences(facts, voice.say(f"told_apart.{findings.evidence_verdict(pair)}"))


def drives(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """Which assumptions decide and where the choice would switch; nothing where not asked."""
    answer = summary["answers"][0]
    yield Heading(text=voice.say("heading.drives"))
    drivers = answer.get("drivers")
    if not drivers or not drivers["winner"]:
        yield Paragraph(text=voice.say("change.constant" if drivers else "change.unknown"))
        return
    yield memo_tables.switches_table(voice, summary, answer)
    index = voice.say(f"drivers.{drivers['index']}")
    yield Paragraph(text=voice.say("drivers.explained", index=index), small=True)


def prices(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """What happens as prices move; nothing without costs."""
    if verdicts.economics_of(summary["answers"][0]) is not None:
        yield Heading(text=voice.say("heading.prices"))
        yield second_figure(voice, summary)


def measure(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """What any study may cost at most, and where to look first."""
    answer = summary["answers"][0]
    economics = verdicts.economics_of(answer)
    yield Heading(text=voice.say("heading.measure"))
    study: Words = ()
    if economics is None:
        chosen = findings.option_of(answer, answer["recommended"])
        most = {"value": chosen["expected_regret"], "mcse": chosen["expected_regret_mcse"]}
        bound = voice.say("measure.bound", value=voice.estimate(most))
    else:
        most = economics["perfect_information"]
        days = voice.notation.amount(economics["horizon_days"])
        bound = voice.say("measure.bound_costs", value=voice.estimate(most), days=days)
        offer = economics["decision"]["study"]
        if offer is not None:
            study = voice.say("measure.study", **voice.offer(offer))
    drivers = answer.get("drivers")
    where: Words = ()
    if drivers and drivers["winner"] and most["value"] > 0:
        named = memo_tables.meanings(voice, summary)
        factor = drivers["winner"][0]["factor"]
        where = voice.say("measure.where", parameter=named.get(factor, (voice.name(factor),)))
    yield Paragraph(text=sentences(bound, study, where))


def regimes(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """What changes between regimes; nothing where there is one only."""
    if len(summary["answers"]) > 1:
        yield Heading(text=voice.say("heading.regimes"))
        yield memo_tables.regimes_table(voice, summary["answers"])


def caveats(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """What the figures leave out."""
    answer = summary["answers"][0]
    economics = verdicts.economics_of(answer)
    if economics is None:
        costs = voice.say("caveats.costs_none")
    else:
        stated = "caveats.stated" if economics["stated_budget"] else "caveats.largest"
        costs = voice.say(
            "caveats.costs",
            days=voice.notation.amount(economics["horizon_days"]),
            budget=voice.notation.amount(economics["budget"]),
            stated=voice.say(stated),
        )
    items = [_scope(voice, answer), voice.say("caveats.model"), costs]
    unowned = sum(not parameter["owner"] for parameter in summary["parameters"])
    if unowned:
        items.append(
            voice.say(
                "caveats.owners",
                count=voice.notation.amount(unowned),
                all=voice.notation.amount(len(summary["parameters"])),
            )
        )
    yield Heading(text=voice.say("heading.caveats"))
    yield Bullets(items=tuple(items))


def _scope(voice: Voice, answer: Answer) -> Words:
    effective = answer["effective_draws"]
    outside, inside, leader = (
        answer["p_out_of_scope"],
        answer["leader_in_scope"],
        answer["leader"],
    )
    if outside == 0:
        text = voice.say("scope.none")
    else:
        lead = voice.say("scope.lead", share=voice.simple_share(outside, effective))
        if inside is None:
            then = voice.say("scope.extrapolation")
        else:
            led = findings.option_of(answer, inside)["p_first_in_scope"]
            then = voice.say(
                "scope.same" if inside == leader else "scope.changes",
                leader=voice.opening(voice.option(leader))
                if inside == leader
                else voice.option(leader),
                share=voice.first_place(answer, leader),
                other=voice.option(inside),
                inside=voice.simple_share(led, effective * (1.0 - outside)),
            )
        text = sentences(voice.opening(lead), then)
    past, ties = answer["p_past_peak"], answer["tied_draws"]
    return sentences(
        text,
        voice.say("scope.past", share=voice.simple_share(past, effective)) if past else (),
        voice.say("scope.ties", share=voice.simple_share(ties, effective)) if ties else (),
    )


def rests(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """Draws and assumptions."""
    question = summary["question"]
    yield Heading(text=voice.say("heading.rests"))
    draws = voice.say(
        "rests.draws",
        draws=voice.notation.amount(question["draws"]),
        source=source_of_draws(voice, question),
    )
    yield Paragraph(text=sentences(draws, form_used(voice, summary)))
    told = memo_tables.assumptions_table(voice, summary)
    if told.table is None:
        yield Paragraph(text=voice.say("rests.none"))
        return
    yield told.table
    if told.rest:
        yield Paragraph(text=told.rest, small=True)


def source_of_draws(voice: Voice, question: Mapping[str, Any]) -> Words:
    """Where the draws of the parameters come from."""
    if question["draws_file"]:
        return voice.say("rests.source_file", file=voice.name(str(question["draws_file"])))
    if question["source"] == "prior" or not question["evidence"]:
        return voice.say("rests.source_prior")
    evidence: Words = ()
    for name in question["evidence"]:
        quoted = voice.say("rests.quoted", name=voice.name(str(name)))
        evidence = (*evidence, *runs_of(", "), *quoted) if evidence else quoted
    return voice.say("rests.source_posterior", evidence=evidence)


def footer(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Words]:
    """What the memo was made from."""
    provenance, question, answer = (
        summary["provenance"],
        summary["question"],
        summary["answers"][0],
    )
    notation, effective = voice.notation, answer["effective_draws"]
    commit: Words = ()
    if provenance["git_commit"]:
        commit = voice.say("footer.commit", commit=voice.name(provenance["git_commit"], DIGEST + 1))
    yield voice.say(
        "footer.version",
        version=voice.name(provenance["version"]),
        commit=commit,
        digest=provenance["digest"][:DIGEST],
        seed=str(provenance["seed"]),
        solver=voice.name(question["solver"]),
    )
    yield voice.say(
        "footer.draws",
        draws=notation.amount(question["draws"]),
        effective=notation.amount(effective),
        share=voice.first_place(answer, answer["leader"]),
        tied=tied(notation.estimate(answer["tied_draws"], effective)),
        outside=tied(notation.estimate(answer["p_out_of_scope"], effective)),
    )
    sampler = summary["sampler"]
    if sampler is not None:
        yield voice.say(
            "footer.sampler",
            verdict=voice.say("footer.converged" if sampler["converged"] else "footer.unconverged"),
            rhat=_diagnostic(voice, sampler["rhat_max"]),
            bulk=notation.amount(sampler["ess_bulk_min"]),
            tail=notation.amount(sampler["ess_tail_min"]),
            divergences=notation.amount(sampler["divergences"]),
            chains=notation.amount(sampler["chains"]),
        )
    if question["overrides"]:
        changes = voice.listed(
            voice.say("footer.override", path=voice.name(path), value=voice.name(str(value)))
            for path, value in question["overrides"].items()
        )
        yield voice.say("footer.overrides", overrides=changes)
    for kind, texts in (("note", summary["notes"]), ("warning", summary["warnings"])):
        for text in texts:
            shown = voice.name(text.rstrip(". \n"), 4 * LONGEST_CELL)
            yield voice.say(f"footer.{kind}", text=shown)


def _diagnostic(voice: Voice, value: float | None) -> str:
    return NOTHING if value is None else voice.notation.digits(value, 4)
