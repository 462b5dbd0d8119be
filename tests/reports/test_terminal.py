"""The terminal's text: complete, within its width, loud where it must be."""

import re

import pytest

from reports.terminal import LEGEND, render
from tests.reports.summaries import (
    CASES,
    HARMFUL,
    UNATTAINABLE,
    bought_instead,
    clear_winner,
    funded,
    many_options,
    measured_first,
    nothing_worth_funding,
    quantile,
    split_decision,
    summary,
    unattainable,
)


def row_of(text, name):
    return next(line for line in text.splitlines() if line.startswith(f"{name} "))


@pytest.mark.parametrize("width", [80, 91, 92, 100, 120])
@pytest.mark.parametrize("case", CASES)
def test_render_stays_within_the_width(case, width):
    text = render(summary(CASES[case]()), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert not any(line.endswith(" ") for line in text.splitlines())


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("case", CASES)
def test_render_cuts_no_figure_and_no_name(case, width):
    text = render(summary(CASES[case]()), width=width)
    assert "…" not in text
    for option in CASES[case]()["options"]:
        assert option["option"] in text


def test_render_prints_a_row_with_every_column():
    row = row_of(render(summary(split_decision())), "fast_checkpoint")
    assert re.split(r"\s{2,}", row.strip()) == [
        "fast_checkpoint",
        "37.2 ± 0.7%",
        "580",
        "2,180",
        "5,300",
        "< 0.1%",
        "260 ± 4",
        "> 99.9%",
    ]


def test_render_keeps_the_order_of_the_ranking():
    text = render(summary(split_decision()))
    names = [one["option"] for one in split_decision()["options"]]
    rows = [text.index(row_of(text, name)) for name in names]
    assert rows == sorted(rows)


def test_render_names_what_cannot_be_bought():
    row = row_of(render(summary(unattainable())), "halve_failures")
    assert row.count("cannot") == 3
    assert "99.5%" in row


def test_render_says_harmful_where_no_pool_is_as_bad():
    assert "harmful" in row_of(render(summary(unattainable())), "add_spares")


def test_render_keeps_figures_whole_beyond_the_width():
    base = clear_winner()
    base["options"][0]["sea"] = {
        key: quantile(98765432109876.0, 1.0) for key in ("p10", "p50", "p90")
    }
    row = row_of(render(summary(base), width=80), "halve_failures")
    assert row.count("98,765,432,109,876") == 3


def test_render_explains_every_column():
    text = render(summary(clear_winner()))
    for term, _ in LEGEND:
        assert re.search(rf"^{term}\s", text, flags=re.MULTILINE)
    assert "fund it if it costs less" in text


def test_render_states_the_baseline_at_draws_and_at_own_values():
    text = render(summary(clear_winner()))
    assert re.search(r"productive\s+53.8%\s+44.9%\s+62.7%\s+62.7%", text)
    assert re.search(r"ETTR\)\s+77.8%\s+66.1%\s+89.1%\s+88.8%", text)
    assert re.search(r"one more accelerator brings\s+0.377\s+0.260\s+0.494\s+0.503", text)


def test_render_compares_priors_with_the_posterior_only_where_there_is_one():
    assert "priors → posterior: halve_failures 41.5% → 83.0%" in render(summary(clear_winner()))
    alone = summary(clear_winner(), question={"source": "prior", "evidence": []}, sampler=None)
    assert "→" not in render(alone)
    assert "from the priors alone" in render(alone)
    assert render(alone).splitlines()[-1].startswith("worth anything")


def test_render_is_loud_where_the_sampler_did_not_converge():
    failed = summary(clear_winner())
    failed["sampler"] |= {"converged": False, "reasons": ["12 divergences, allowed is 0"]}
    lines = render(failed).splitlines()
    assert lines[0].startswith("NOT CONVERGED (12 divergences, allowed is 0)")
    assert lines[-1].startswith("NOT CONVERGED")
    assert "NOT CONVERGED" not in render(summary(clear_winner()))


def test_render_shows_notes_warnings_and_overrides_of_any_content():
    run = summary(
        clear_winner(),
        question={"overrides": {"reliability.detect_time_s": 30}, "scale": 65536},
        notes=["column x\nis ignored"],
        warnings=["[bold]memory[/bold] \x1b[31m"],
    )
    text = render(run)
    assert "Note: column x is ignored" in text
    assert "Warning: [bold]memory[/bold] ⟨U+001B⟩[31m" in text
    assert "reliability.detect_time_s = 30" in text
    assert "re-planned to that size" in text
    assert "\x1b" not in text


def test_render_colours_only_when_asked(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" not in render(summary(clear_winner()))
    monkeypatch.setenv("TERM", "dumb")
    coloured = render(summary(clear_winner()), color=True, width=100)
    assert "\x1b[" in coloured
    assert (
        re.sub(r"\x1b\[[0-9;]*m", "", coloured).split()
        == render(summary(clear_winner()), width=100).split()
    )


def test_render_tabulates_what_changes_between_regimes():
    run = summary(
        clear_winner(),
        split_decision() | {"regime": "unreliable_flat", "p_out_of_scope": 0.69},
        nothing_worth_funding() | {"regime": "reliable"},
    )
    text = render(run)
    closing = text[text.index("What changes between the regimes") :]
    assert re.search(r"as described\s+halve_failures\s+83.0 ± 0.5%\s+2,560\s+halve", closing)
    assert re.search(r"unreliable_flat\s+fast_checkpoint\s+37.2.*halve_failures\s+69.0%", closing)
    assert re.search(r"reliable\s+do_nothing", closing)
    assert text.count("Recommendation:") == 3
    assert text.count("fund it if it costs less") == 1


def test_render_of_one_option_needs_no_separation():
    alone = nothing_worth_funding()
    del alone["options"][1:]
    text = render(summary(alone | {"separation": None}))
    assert "Simulation:" not in text
    assert "Fund nothing on this list" in text


def test_render_survives_figures_that_do_not_exist():
    base = many_options()
    base["baseline"]["marginal_accelerator"] = dict.fromkeys(("mean", "p10", "p50", "p90"))
    base["baseline"]["point"]["marginal_accelerator"] = None
    for one, record in zip(base["options"], (UNATTAINABLE, HARMFUL), strict=False):
        one["sea"]["p90"] = record
        one["p_first_in_scope"] = one["p_first_prior"] = None
    text = render(summary(base | {"leader_in_scope": None, "p_out_of_scope": 1.0}))
    assert re.search(r"one more accelerator brings\s+—\s+—\s+—\s+—", text)
    assert "none is in scope" in text


def at_costs(text):
    return text[text.index("At these costs") :]


def test_render_prints_options_at_their_costs():
    text = at_costs(render(summary(funded())))
    assert re.split(r"\s{2,}", row_of(text, "halve_failures").strip()) == [
        "halve_failures", "700", "75.3%", "900", "500", "200", "392 ± 4", "25.0%", "459 ± 5",
    ]  # fmt: skip
    assert "Decision: Fund fast_checkpoint at 120 accelerators of a budget of 900." in text
    assert "Before costs: fast_checkpoint ranks first most often" in text
    assert "best choice      share of draws" in text


def test_render_marks_what_the_budget_does_not_pay():
    text = at_costs(render(summary(bought_instead())))
    assert row_of(text, "halve_failures").endswith("over budget")
    assert "cannot" in row_of(text, "halve_failures")
    assert "harmful" in row_of(text, "fast_restart")


def test_render_without_costs_is_as_it_was():
    text = render(summary(split_decision()))
    assert "At these costs" not in text
    assert "Decision" not in text
    assert "net value" not in text


def test_render_names_the_decision_of_each_regime():
    run = summary(
        funded(), bought_instead() | {"regime": "cheap"}, measured_first() | {"regime": "m"}
    )
    text = " ".join(render(run).split())
    assert "fund fast_checkpoint" in text
    assert "fund nothing" in text
    assert "measure first" in text
