"""The memo: right sentences, no invented figures, nothing broken by hostile text."""

import json
import re

import pytest

from reports.markdown import LONGEST_NAME, escaped
from reports.memo import main, render_memo, write_memo
from tests.reports.summaries import (
    CASES,
    averse,
    bought_instead,
    clear_winner,
    free_and_useless,
    funded,
    many_options,
    many_priced,
    measured_first,
    nothing,
    nothing_worth_funding,
    option,
    parameter,
    split_decision,
    summary,
    unattainable,
)
from tests.reports.summaries import answer as answer_of

HOSTILE = (
    "a | b",
    "<script>alert('x')</script>",
    "`code` ``more``",
    "*bold* **x** _em_ __y__",
    "two\nlines\r\n# heading",
    "[link](javascript:x) ![i](y)",
    "$x$ ~~z~~ &amp; \\| ^1",
)

TWO_PAGES = 1130
"""Words, those of the tables included, that two pages of A4 hold at 10 points (tables at 9):
measured by printing the memo of eleven options, six regimes and twelve assumptions, which has
1,117 and leaves two lines."""


def section(memo, heading):
    return re.split(r"^## ", memo, flags=re.MULTILINE)[
        next(
            i
            for i, part in enumerate(re.split(r"^## ", memo, flags=re.MULTILINE))
            if part.startswith(heading)
        )
    ]


def paragraph(memo, label):
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
    r"(?:\u00a0±\u00a0[\d.\u202f]+)?(%| points)?"
)

WORDS_OF_THE_TEMPLATE = {"90%", "50%", "10%", "80%", "95%"}
"""Probabilities that the text itself defines: the quantiles."""


def invented(memo, run):
    """Figures of a memo that are not a rounding of one in the summary."""
    known = list(figures_of(run))
    text = re.sub(r"(less than |more than |[<>]\u00a0)[\d.]+%", "", memo)
    text = re.sub(r"\(figures/\w+\.png\)", "", text)
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
            for v in known
        ):
            found.append(match[0])
    return found


@pytest.mark.parametrize("case", CASES)
def test_memo_prints_no_figure_that_the_summary_lacks(case):
    run = summary(CASES[case]())
    assert invented(render_memo(run), run) == []


def test_invented_figures_are_found():
    run = summary(split_decision())
    memo = render_memo(run)
    for right, wrong in (("37.2", "38.9"), ("2\u202f560", "2\u202f960"), ("108", "118")):
        assert right in memo
        assert invented(memo.replace(right, wrong), run) != []


@pytest.mark.parametrize("case", CASES)
def test_memo_has_every_section(case):
    memo = render_memo(summary(CASES[case]()))
    for label in ("Ask", "Alternatives", "How sure", "Before you sign", "Missing"):
        assert f"**{label}.**" in memo
    for heading in ("What the cluster does", "What each option", "What separates", "What this"):
        assert f"\n## {heading}" in memo
    assert "$" not in memo
    assert "\n\n\n" not in memo


def test_memo_asks_for_the_clear_winner_as_a_ceiling_on_cost():
    ask = paragraph(render_memo(summary(clear_winner())), "Ask")
    assert ask == (
        "**Ask.** Fund **halve_failures** (Change something). Up to the price of 920 accelerators"
        " halve_failures pays in nine draws of ten, up to the price of 2\u202f560 in half of them."
        " Regime: as described."
    )


def test_memo_words_a_break_even_never_as_a_saving():
    for case in CASES.values():
        memo = render_memo(summary(case()))
        assert "not a saving" in memo
        assert len(re.findall(r"\bsav(?:e|es|ing|ings)\b", memo)) == 1


def test_memo_states_the_regime_with_its_values():
    memo = render_memo(summary(clear_winner() | {"regime": "unreliable_flat"}))
    assert paragraph(memo, "Ask").endswith("Regime: unreliable_flat.")
    assert "Regime: unreliable_flat." in section(memo, "What each option")


def test_memo_says_both_where_share_and_loss_disagree():
    memo = render_memo(summary(split_decision()))
    assert paragraph(memo, "Ask").startswith("**Ask.** Fund **halve_failures**")
    assert "**fast_checkpoint** (Change something) ranks first most often" in paragraph(
        memo, "Alternatives"
    )
    sure = paragraph(memo, "How sure")
    assert "halve_failures is best in 33.7\u00a0±\u00a00.7% of draws" in sure
    assert "fast_checkpoint is best more often (37.2\u00a0±\u00a00.7%), but loses more" in sure


def test_memo_of_an_agreed_winner_does_not_speak_of_disagreement():
    sure = paragraph(render_memo(summary(clear_winner())), "How sure")
    assert "disagree" not in sure
    assert "loses 41\u00a0±\u00a01 productive accelerators on average, and 102 or more" in sure


def test_memo_keeps_simulation_error_apart_from_evidence():
    part = section(render_memo(summary(split_decision())), "What separates")
    simulation, evidence = part.split("*By the evidence.*")
    assert "*By simulation.*" in simulation
    assert "ranks first more often" in simulation
    assert "43.2" not in simulation
    assert "43.2\u00a0±\u00a00.4% of draws" in evidence


def test_memo_funds_nothing_where_nothing_is_worth_it():
    memo = render_memo(summary(nothing_worth_funding()))
    assert paragraph(memo, "Ask").startswith("**Ask.** Fund nothing on this list")
    assert "add_spares** (Hold more spares) changes output by −151" in paragraph(
        memo, "Alternatives"
    )
    assert "loses 0" not in paragraph(memo, "How sure")


def test_memo_of_doing_nothing_alone_has_no_alternative():
    alone = answer_of([nothing(1.0, regret=0.0)])
    memo = render_memo(summary(alone))
    assert paragraph(memo, "Alternatives") == "**Alternatives.** There are none."
    assert "There is only one option." in section(memo, "What separates")


def test_memo_where_doing_nothing_leads_but_an_option_is_recommended():
    risky = option("risky", 0.4, (-30.0, -5.0, 4000.0), gain=300.0, regret=20.0)
    memo = render_memo(summary(answer_of([nothing(0.6, regret=320.0), risky])))
    assert "At no price does risky pay in more than half of the draws." in paragraph(memo, "Ask")
    assert "Doing nothing is best more often (60.0" in paragraph(memo, "How sure")
    assert paragraph(memo, "Alternatives").startswith("**Alternatives.** Doing nothing costs")


def test_memo_says_what_cannot_be_bought():
    memo = render_memo(summary(unattainable()))
    assert "no number of accelerators gives what halve_failures gives" in paragraph(memo, "Ask")
    row = next(line for line in memo.splitlines() if line.startswith("| halve_failures"))
    assert row.count("cannot be bought") == 3
    assert "past its peak" in memo


def test_memo_says_where_the_leader_changes_with_scope():
    base = clear_winner() | {"leader_in_scope": "fast_restart"}
    memo = render_memo(summary(base))
    assert "The leader changes with them" in memo[: memo.index("## What the cluster")]


def test_memo_with_costs_asks_for_what_they_decide():
    memo = render_memo(summary(funded()))
    assert paragraph(memo, "Ask") == (
        "**Ask.** Fund fast_checkpoint at 120 accelerators of a budget of 900. It costs less than"
        " it is worth in 97.1\u00a0±\u00a00.4% of draws, and brings 655\u00a0±\u00a07 productive"
        " accelerators more than accelerators for the whole budget on average. Regime: as"
        " described."
    )
    assert "**fast_restart** (Change something) is next, at 140 accelerators" in paragraph(
        memo, "Alternatives"
    )
    sure = paragraph(memo, "How sure")
    assert "fast_checkpoint is the best choice at these costs in 52.6\u00a0±\u00a00.6%" in sure
    assert "no study that costs more pays" in sure
    assert "No prices were given" not in memo
    assert (
        "over 1\u202f095 days; the budget is 900 accelerators (the largest expected cost)" in memo
    )
    assert "figures/acceptability.png" in memo
    row = next(line for line in memo.splitlines() if line.startswith("| halve_failures"))
    assert [text.strip() for text in row.strip("|").split("|")][1:] == [
        "700", "75.3\u00a0±\u00a00.4%", "900", "500", "200", "392\u00a0±\u00a04",
        "25.0\u00a0±\u00a00.6%", "459\u00a0±\u00a05",
    ]  # fmt: skip


def test_memo_without_costs_does_not_speak_of_them():
    memo = render_memo(summary(split_decision()))
    for word in ("P(pays)", "budget", "acceptability", "Net value"):
        assert word not in memo


def test_memo_measures_first_where_a_study_is_worth_more_than_it_costs():
    ask = paragraph(render_memo(summary(measured_first())), "Ask")
    assert ask.startswith(
        "**Ask.** Measure first: timed_restarts, 20 restarts, is worth 77\u00a0±\u00a04 productive"
        " accelerators to this decision and costs 12. Without it: Fund fast_checkpoint"
    )


def test_memo_buys_accelerators_where_they_bring_more():
    memo = render_memo(summary(bought_instead()))
    ask = paragraph(memo, "Ask")
    assert ask.startswith("**Ask.** Fund nothing on this list: accelerators for the whole budget")
    assert "fast_checkpoint is nearest: it costs less than it is worth in 30.0" in ask
    assert "brings 90\u00a0±\u00a01 productive accelerators less than accelerators" in ask
    row = next(line for line in memo.splitlines() if line.startswith("| halve_failures"))
    assert row.endswith("| over budget |")
    free = paragraph(render_memo(summary(free_and_useless())), "Ask")
    assert "no option is expected to gain anything within a budget of 0" in free
    assert "brings 140\u00a0±\u00a01 productive accelerators less than doing nothing" in free


def test_memo_says_where_risk_decides():
    ask = paragraph(render_memo(summary(averse())), "Ask")
    assert "At a risk tolerance of 500 it has the largest certainty equivalent, 8\u202f660" in ask
    assert "riskier" not in ask
    base = averse()
    base["economics"]["decision"]["lead"] = {"value": -50.0, "mcse": 4.0}
    ask = paragraph(render_memo(summary(base)), "Ask")
    assert "On average it brings 50\u00a0±\u00a04 less than fast_restart, which is riskier" in ask


def test_memo_says_where_more_draws_could_change_the_choice():
    base = funded()
    base["economics"]["decision"]["lead"] = {"value": 3.0, "mcse": 4.0}
    ask = paragraph(render_memo(summary(base)), "Ask")
    assert "fast_restart is expected to bring about as much." in ask
    assert "more than simulation" not in paragraph(render_memo(summary(funded())), "Ask")
    assert "within simulation error" in ask
    assert "within simulation error" not in paragraph(render_memo(summary(funded())), "Ask")


def alarms_of(run):
    memo = render_memo(run)
    return memo[: memo.index("**Ask.**")]


def test_memo_front_loads_what_spoils_the_figures():
    assert ">" not in alarms_of(summary(clear_winner()))

    failed = summary(clear_winner())
    failed["sampler"] |= {"converged": False, "reasons": ["R-hat 1.2, allowed is 1.01"]}
    assert "NOT CONVERGED (R-hat 1.2, allowed is 1.01)" in alarms_of(failed)
    assert paragraph(render_memo(failed), "Ask").startswith("**Ask.** None can be made")

    small = summary(clear_winner())
    small["answers"][0]["baseline"] |= {"accelerators": 1024, "below_indicative": True}
    assert "Indicative only" in alarms_of(small)

    few = summary(clear_winner() | {"effective_draws": 40.0})
    assert "Only 40 effective draws" in alarms_of(few)

    outside = summary(clear_winner() | {"p_out_of_scope": 0.97})
    assert "Extrapolation" in alarms_of(outside)

    prior = summary(clear_winner(), question={"source": "prior", "evidence": []}, sampler=None)
    assert "Priors only" in alarms_of(prior)


def test_memo_of_draws_from_a_file_names_it_and_claims_no_evidence():
    run = summary(
        clear_winner(),
        question={"source": "file", "evidence": [], "draws_file": "my draws.csv"},
        sampler=None,
        parameters=[parameter(prior=None, basis="draws file", source="my draws.csv", owner="")],
    )
    for one in run["answers"][0]["options"]:
        one["p_first_prior"] = None
    memo = render_memo(run)
    assert "from the file my draws.csv" in memo
    assert "| In the file: P50 (P10–P90) |" in memo
    assert "After evidence" not in memo
    assert "Before evidence" not in memo
    assert "before any evidence" not in memo
    assert "Sampler" not in memo
    assert "Assumptions without an owner" in memo


def test_memo_shows_an_assumption_before_and_after_evidence():
    row = next(
        line
        for line in render_memo(summary(clear_winner())).splitlines()
        if line.startswith("| achieved share")
    )
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "achieved share of the peak",
        "0.575 (0.475–0.675)",
        "0.570 (0.541–0.602)",
        "published: Nanyonga 2026, uncertainty study",
        "performance engineering",
    ]


def test_memo_tabulates_other_regimes_and_details_the_first():
    run = summary(clear_winner(), split_decision() | {"regime": "flaky", "p_out_of_scope": 0.69})
    part = section(render_memo(run), "What changes in other regimes")
    assert "| flaky | fast_checkpoint | 37.2\u00a0±\u00a00.7% | halve_failures | 920" in part
    assert "What changes in other" not in render_memo(summary(clear_winner()))


def test_memo_footer_can_be_traced():
    footer = render_memo(summary(split_decision())).rpartition("---\n")[2]
    for trace in (
        "Fundworthy 0.1.0, commit abcdef0",
        "0123456789abcdef;",
        "seed 1",
        "solver exact",
        "5\u202f000 draws",
        "37.2\u00a0±\u00a00.7%",
        "tied draws <\u00a00.1%",
        "out of scope 21.0%",
        "R-hat at most 1.003",
        "divergences 0",
        "figures/four_fates.png",
    ):
        assert trace in footer


def words(memo):
    return len(re.findall(r"[^\s|]*\w[^\s|]*", memo.replace("\u202f", "").replace("\u00a0", "")))


def largest():
    """Eleven options, six regimes and twelve parameters with long texts."""
    regimes = [many_options() | {"regime": f"regime_{i}" if i else ""} for i in range(6)]
    texts = {
        "meaning": "from detection to the first new step of the job",
        "source": "Kokolis et al., HPCA 2025: interruptions against failures",
    }
    return summary(
        *regimes,
        parameters=[parameter(path=f"a.b{i}", **texts) for i in range(12)],
        notes=["a column of the draws file is ignored"],
    )


def test_memo_stays_within_two_pages():
    assert words(render_memo(largest())) <= TWO_PAGES


def test_memo_with_costs_stays_within_two_pages():
    priced = largest()
    costs = many_priced()["economics"]
    for one in priced["answers"]:
        one["economics"] = costs
    assert words(render_memo(priced)) <= TWO_PAGES


def test_memo_names_assumptions_beyond_the_table():
    run = summary(clear_winner(), parameters=[parameter(path=f"a.b{i}") for i in range(20)])
    memo = render_memo(run)
    assert memo.count("| achieved share") == 14
    assert "Also uncertain: a.b14, a.b15, a.b16, a.b17, a.b18, a.b19." in memo


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_has_no_meaning_in_markdown(text):
    safe = escaped(text)
    assert "\n" not in safe
    assert not re.search(r"[|<>`*\[\]\\$~^]", safe)
    assert not re.search(r"&(?!#\d+;)", safe)
    assert not re.search(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", safe)


def test_escaped_name_keeps_its_underscores():
    assert escaped("bandwidth_2x") == "bandwidth_2x"


@pytest.mark.parametrize("text", HOSTILE)
def test_memo_survives_hostile_text(text):
    calm, hostile = split_decision(), split_decision()
    renamed = {one["option"]: f"{text} {i}" for i, one in enumerate(hostile["options"])}
    renamed["do_nothing"] = "do_nothing"
    for one in hostile["options"]:
        one["option"] = renamed[one["option"]]
        one["description"] = text
    for key in ("leader", "leader_in_scope", "recommended"):
        hostile[key] = renamed[hostile[key]]
    hostile["separation"] |= {
        key: renamed[hostile["separation"][key]] for key in ("first", "second")
    }
    run = summary(
        hostile | {"regime": text},
        question={"scenario": text, "evidence": [text], "overrides": {text: text}},
        parameters=[parameter(meaning=text, source=text, owner=text, unit=text, basis=text)],
        notes=[text],
        warnings=[text],
    )
    memo = render_memo(run)
    assert "<script" not in memo
    for line in (line for line in memo.splitlines() if line.startswith("|")):
        assert line.count("|") in (6, 8)  # five or seven columns

    def structure(document):
        return [
            re.match(r"\W*", line)[0][:3] for line in document.splitlines() if line[:1] in "#|>-"
        ]

    plain = render_memo(
        summary(calm, question={"overrides": {"a.b": 1}}, notes=["n"], warnings=["w"])
    )
    assert len(structure(memo)) == len(structure(plain))
    assert len(memo.splitlines()) == len(plain.splitlines())


def test_memo_cuts_names_that_would_fill_a_page():
    run = summary(clear_winner(), question={"scenario": "s" * 4000})
    title = render_memo(run).splitlines()[0]
    assert len(title) <= len("# Funding memo: ") + LONGEST_NAME
    assert title.endswith("…")


def test_memo_does_not_depend_on_the_order_of_calls():
    run = summary(split_decision())
    first = render_memo(run)
    render_memo(summary(unattainable()))
    assert render_memo(run) == first


@pytest.fixture
def finished(tmp_path):
    (tmp_path / "summary.json").write_text(json.dumps(summary(split_decision())))
    return tmp_path


def test_main_writes_memo_and_figures(finished, capsys):
    assert main([str(finished)]) == 0
    assert (finished / "memo.md").read_text(encoding="utf-8") == render_memo(
        summary(split_decision())
    )
    written = capsys.readouterr().out.splitlines()
    assert len(written) == 5
    assert all(
        (finished / "figures" / f"{name}.png").stat().st_size > 0
        for name in ("sea_intervals", "shares_first", "rank_distribution", "four_fates")
    )


def test_write_memo_is_repeatable(finished):
    paths = write_memo(finished)
    before = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in write_memo(finished)] == before


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (None, "summary.json"),
        ("", "not the summary"),
        ("[]", "not the summary"),
        ("{}", "format"),
        ('{"format": 2}', "format 2"),
        ('{"format": 1}', "answers"),
        ('{"format": 1, "answers": []}', "not the summary"),
        ("\x00\x01", "not the summary"),
    ],
)
def test_main_reports_a_run_it_cannot_read_in_one_block(tmp_path, capsys, content, word):
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    assert main([str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert word in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert captured.out == ""
    assert not (tmp_path / "memo.md").exists()


def test_main_reports_what_it_cannot_write(finished, capsys):
    (finished / "memo.md").mkdir()
    assert main([str(finished)]) == 2
    assert "memo.md" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--draws"]])
def test_main_wants_one_run(arguments, capsys):
    assert main(arguments) == 2
    assert "--help" in capsys.readouterr().err


def test_main_explains_itself(capsys):
    assert main(["--help"]) == 0
    assert "example:" in capsys.readouterr().out
