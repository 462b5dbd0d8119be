"""What changed between two runs, and what moved it."""

import json

import numpy as np
import pandas as pd
import pytest

from decision.finished import read_past
from studies import compare
from studies.comparing.attribution import attribute, subsets, weights
from studies.comparing.comparison import compare_past
from studies.comparing.mixtures import Sample
from tests.runs import rank_into

ONLY = "reliability_2x,fast_restart,fast_checkpoint,straggler_control"
SMALL = ("--draws", "300", "--only", ONLY)

COSTS = """\
interventions:
  reliability_2x: {reliability}
  fast_restart: {{triangular: {{low: 30, mode: 60, high: 120}}}}
  fast_checkpoint: 120
  straggler_control: 90
"""

SLOW_FAILURES = ("--set", "reliability.failure_rate_per_node_day=0.004")


@pytest.fixture(scope="module", autouse=True)
def one_state_of_the_code():
    """Digests as of one moment: a file edited while the tests run is no other code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("decision.inputs.code_digest", lambda: "code")
        yield


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    """Files of costs that differ in one."""
    directory = tmp_path_factory.mktemp("costs")
    found = {}
    for name, reliability in (("low", 200), ("high", 900)):
        file = directory / f"{name}.yaml"
        file.write_text(COSTS.format(reliability=reliability))
        found[name] = ("--costs", str(file), "--budget", "1000")
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory, costs):
    """An older run, a newer one with other costs and another scenario, and each change alone."""
    directory = tmp_path_factory.mktemp("runs")
    return {
        "old": rank_into(directory / "old", *SMALL, *costs["low"]),
        "costs": rank_into(directory / "costs", *SMALL, *costs["high"]),
        "scenario": rank_into(directory / "scenario", *SMALL, *costs["low"], *SLOW_FAILURES),
        "both": rank_into(directory / "both", *SMALL, *costs["high"], *SLOW_FAILURES),
    }


@pytest.fixture(scope="module")
def both(runs):
    return compare.compare(runs["both"], runs["old"])


def values(content, option, quantity, answer=0):
    one = next(o for o in content["answers"][answer]["options"] if o["option"] == option)
    return one["values"][quantity]


def every_value(content):
    for answer in content["answers"]:
        for option in answer["options"]:
            for quantity, value in option["values"].items():
                if quantity != "sea_p50":
                    yield option["option"], quantity, value


def appraisal(run, option, quantity):
    economics = json.loads((run / "summary.json").read_text())["answers"][0]["economics"]
    return next(o for o in economics["options"] if o["option"] == option)[quantity]["value"]


def test_run_compared_with_itself_has_not_changed(runs):
    content = compare.compare(runs["old"], runs["old"])
    assert content["parts_of"] == []
    assert not any(one["changed"] for one in content["inputs"])
    for _, _, value in every_value(content):
        assert value["change"] == {"value": 0.0, "mcse": 0.0}
        assert value["parts"] == []


def test_parts_sum_to_the_change_of_every_quantity(both):
    assert both["parts_of"] == ["scenario", "costs"]
    moved = 0
    for option, quantity, value in every_value(both):
        whole = value["after"]["value"] - value["before"]["value"]
        assert value["change"]["value"] == pytest.approx(whole, rel=1e-9, abs=1e-9)
        total = sum(part["value"] for part in value["parts"])
        assert total == pytest.approx(whole, rel=1e-9, abs=1e-7), (option, quantity)
        alone = sum(part["alone"] for part in value["parts"])
        assert value["interaction"] == pytest.approx(whole - alone, rel=1e-6, abs=1e-7)
        moved += abs(whole) > 1e-6
    assert moved > 20


@pytest.mark.parametrize("changed", ["scenario", "costs"])
def test_input_swapped_alone_gives_the_run_that_was_made_so(runs, both, changed):
    """Independent: the command itself ran with this one change."""
    for option in ("reliability_2x", "fast_restart"):
        for quantity in ("net_value", "p_pays", "p_best"):
            before, then = (appraisal(runs[name], option, quantity) for name in ("old", changed))
            other = "costs" if changed == "scenario" else "scenario"
            value = values(both, option, quantity)
            parts = {part["input"]: part for part in value["parts"]}
            assert parts[changed]["alone"] == pytest.approx(then - before, rel=1e-9, abs=1e-9)
            after = appraisal(runs["both"], option, quantity)
            assert parts[other]["last"] == pytest.approx(after - then, rel=1e-9, abs=1e-9)


def test_input_moves_only_what_depends_on_it(both):
    """A cost moves no gain; a cost of one option no net value of another at a stated budget."""
    for option in ("reliability_2x", "fast_restart"):
        parts = {part["input"]: part for part in values(both, option, "gain")["parts"]}
        assert parts["costs"]["value"] == 0.0
        assert parts["costs"]["mcse"] == 0.0
        assert abs(parts["scenario"]["value"]) > 5 * parts["scenario"]["mcse"]
    parts = {part["input"]: part for part in values(both, "fast_restart", "net_value")["parts"]}
    assert parts["costs"]["value"] == pytest.approx(0.0, abs=1e-9)


def test_common_draws_tell_a_change_better_than_two_runs(runs):
    content = compare.compare(runs["costs"], runs["old"])
    value = values(content, "reliability_2x", "net_value")
    apart = np.hypot(value["before"]["mcse"], value["after"]["mcse"])
    assert 0 < value["change"]["mcse"] < 0.3 * apart


def test_decision_changes_by_what_is_said_to_change_it(runs, both):
    answer = both["answers"][0]
    decisive = {one["input"]: one for one in answer["decisive"]}

    def chosen(name):
        summary = json.loads((runs[name] / "summary.json").read_text())
        return summary["answers"][0]["economics"]["decision"]["option"]

    assert answer["before"]["option"] == chosen("old")
    assert answer["after"]["option"] == chosen("both")
    for name, other in (("costs", "scenario"), ("scenario", "costs")):
        assert decisive[name] == {"input": name, "alone": chosen(name), "without": chosen(other)}
    assert chosen("old") != chosen("costs")


def test_fields_that_differ_are_named_with_their_values(both):
    changes = {one["input"]: one["changes"] for one in both["inputs"]}
    [scenario] = changes["scenario"]
    assert scenario["path"] == "--set reliability.failure_rate_per_node_day"
    assert (scenario["before"], scenario["after"]) == ("", "0.004")
    assert scenario["unit"] == "1/(node d)"
    [cost] = changes["costs"]
    assert (cost["path"], cost["before"], cost["after"]) == (
        "interventions.reliability_2x",
        "200",
        "900",
    )
    assert changes["priors"] == changes["evidence"] == []


def test_other_draws_and_seed_are_a_part_of_their_own(tmp_path, runs, costs):
    only = ("--only", ONLY, *costs["low"])
    other = rank_into(tmp_path / "other", *only, "--draws", "500", "--seed", "2")
    content = compare.compare(other, runs["old"])
    assert content["parts_of"] == ["draws"]
    for option, quantity, value in every_value(content):
        [part] = value["parts"]
        assert part["value"] == pytest.approx(value["change"]["value"], rel=1e-9, abs=1e-9)
        # Two runs of one question: five standard errors hold all of some forty figures.
        assert abs(part["value"]) <= 5 * part["mcse"] + 1e-9, (option, quantity)


def test_other_code_is_a_part_of_its_own(tmp_path, runs, costs):
    """The older run says 10 more for one gain than the code of now does."""
    older = rank_into(tmp_path / "older", *SMALL, *costs["low"])
    provenance = json.loads((older / "provenance.json").read_text())
    provenance["digests"]["code"] = "another"
    (older / "provenance.json").write_text(json.dumps(provenance))
    table = pd.read_parquet(older / "outcomes.parquet")
    table["gain_fast_restart"] += 10.0
    table.to_parquet(older / "outcomes.parquet")
    summary = json.loads((older / "summary.json").read_text())
    for option in summary["answers"][0]["options"]:
        option["gain_mean"] += 10.0 if option["option"] == "fast_restart" else 0.0
    (older / "summary.json").write_text(json.dumps(summary))
    content = compare.compare(runs["costs"], older)
    assert content["parts_of"] == ["code", "costs"]
    code, swapped = values(content, "fast_restart", "gain")["parts"]
    assert (code["input"], code["value"]) == ("code", pytest.approx(-10.0, abs=1e-9))
    assert swapped["value"] == 0.0
    assert values(content, "reliability_2x", "gain")["parts"][0]["value"] == 0.0


def test_priors_are_swapped_and_their_draws_made_anew(tmp_path, runs, costs):
    from importlib.resources import files

    published = files("priors.data.priors").joinpath("published.yaml").read_text()
    document = tmp_path / "priors.yaml"
    restart = "reliability.restart_time_s:\n    uniform: {low: 60, high: 900}"
    assert restart in published
    document.write_text(published.replace(restart, restart.replace("high: 900", "high: 1500")))
    other = rank_into(tmp_path / "other", *SMALL, *costs["high"], "--priors", str(document))
    content = compare.compare(other, runs["old"])
    assert content["parts_of"] == ["priors", "costs"]
    parts = {p["input"]: p for p in values(content, "fast_restart", "gain")["parts"]}
    assert parts["priors"]["value"] > 5 * parts["priors"]["mcse"] > 0
    untouched = values(content, "straggler_control", "p_pays")["parts"][1]
    assert untouched["value"] == pytest.approx(0.0, abs=1e-9)


def test_inputs_that_go_together_only_are_swapped_together(tmp_path, runs):
    costs = tmp_path / "costs.yaml"
    costs.write_text(COSTS.format(reliability=200) + "  fast_detection: 20\n")
    more = ("--only", f"{ONLY},fast_detection", "--costs", str(costs), "--budget", "1000")
    wider = rank_into(tmp_path / "wider", "--draws", "300", *more)
    content = compare.compare(wider, runs["old"])
    assert content["parts_of"] == ["interventions+costs"]
    assert any("together" in note for note in content["notes"])
    status = {one["option"]: one["status"] for one in content["answers"][0]["options"]}
    assert status["fast_detection"] == "new"
    assert status["fast_restart"] == "both"
    back = compare.compare(runs["old"], wider)
    gone = {one["option"]: one["status"] for one in back["answers"][0]["options"]}
    assert gone["fast_detection"] == "gone"


def test_runs_on_draws_from_a_file_are_compared(tmp_path, runs):
    columns = read_past(runs["old"], "RUN").draws.columns
    for name, factor in (("a", 1.0), ("b", 1.2)):
        table = pd.DataFrame(dict(columns))
        table["reliability.restart_time_s"] *= factor
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    made = [
        rank_into(tmp_path / n, "--only", ONLY, "--parameter-draws", str(tmp_path / f"{n}.csv"))
        for n in ("a", "b")
    ]
    content = compare.compare(made[1], made[0])
    assert content["parts_of"] == ["draws"]
    assert values(content, "fast_restart", "gain")["change"]["value"] > 0


def test_run_whose_evidence_names_files_elsewhere_keeps_its_draws(tmp_path, runs, costs):
    """Its draws are those that it keeps: what evidence changed is counted with them."""
    other = rank_into(tmp_path / "other", *SMALL, *costs["high"])
    (other / "inputs" / "evidence-1.yaml").write_text(
        "observations:\n- {kind: throughput, id: ours, source: us, scenario: ../gone.yaml,"
        " value: 400, unit: tflops_per_accelerator, relative_error: 0.03}\n"
    )
    content = compare.compare(other, runs["old"])
    assert content["parts_of"] == ["costs"]
    assert any("cannot be read again" in note for note in content["notes"])


def test_regimes_in_common_are_compared(tmp_path):
    several = rank_into(tmp_path / "all", *SMALL, "--regime", "all")
    one = rank_into(tmp_path / "one", *SMALL, "--regime", "typical", *SLOW_FAILURES)
    content = compare.compare(one, several)
    assert [answer["regime"] for answer in content["answers"]] == ["typical"]
    assert content["parts_of"] == ["scenario"]
    assert any("left out" in note for note in content["notes"])
    assert content["answers"][0]["after"]["verdict"] is None


def test_what_answers_another_question_is_refused(tmp_path, capsys, runs):
    other = rank_into(tmp_path / "other", "--draws", "50", "--only", "flat_fabric")
    assert compare.main([str(other), str(runs["old"])]) == 2
    assert "no option in common" in capsys.readouterr().err
    regime = rank_into(tmp_path / "regime", *SMALL, "--regime", "unreliable_flat")
    assert compare.main([str(regime), str(runs["old"])]) == 2
    assert "no regime in common" in capsys.readouterr().err
    summary = json.loads((other / "summary.json").read_text())
    (other / "summary.json").write_text(json.dumps(summary | {"format": 99}))
    assert compare.main([str(runs["old"]), str(other)]) == 2
    assert "format 99" in capsys.readouterr().err
    assert compare.main([str(tmp_path), str(runs["old"])]) == 2
    assert "not a finished run" in capsys.readouterr().err


def test_command_writes_the_comparison_and_tells_it(tmp_path, capsys, runs):
    target = tmp_path / "change.json"
    arguments = [str(runs["both"]), str(runs["old"]), "--quiet"]
    assert compare.main([*arguments, "--out", str(target)]) == 0
    told = capsys.readouterr().out
    assert "--set reliability.failure_rate_per_node_day: none → 0.004" in told
    assert "interventions.reliability_2x: 200 → 900" in told
    assert "Decision: fund reliability_2x before" in told
    assert not (runs["both"] / compare.COMPARISON).exists()
    assert compare.main([*arguments, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((runs["both"] / compare.COMPARISON).read_text())
    assert printed == json.loads(target.read_text())


def games(count, draws=50, seed=3):
    """Results of a game of random draws for every set of players."""
    generator = np.random.default_rng(seed)
    return {members: generator.normal(size=(draws, 2)) for members in subsets(count)}


def attributed(results, count):
    players = [(f"input{i}",) for i in range(count)]

    def result(names):
        members = frozenset(int(name.removeprefix("input")) for name in names)
        return Sample(
            options=("do_nothing", "a"),
            values={"gain": results[members]},
            chain=None,
            choice="a",
        )

    return attribute(players, result, ["do_nothing", "a"]).parts["a"]["gain"]


def test_two_inputs_share_what_they_do_together_in_halves():
    """Closed form: x = a·A + b·B + c·A·B gives a + c/2 and b + c/2."""
    draws = np.random.default_rng(1).normal(size=(3, 40, 2))
    a, b, c = draws
    results = {
        frozenset(): np.zeros((40, 2)),
        frozenset({0}): a,
        frozenset({1}): b,
        frozenset({0, 1}): a + b + c,
    }
    first, second = attributed(results, 2)
    for part, own in ((first, a), (second, b)):
        samples = (own + c / 2)[:, 1]
        assert part.value == pytest.approx(samples.mean(), rel=1e-12)
        assert part.mcse == pytest.approx(samples.std() / np.sqrt(40), rel=1e-12)
        assert part.alone == pytest.approx(own[:, 1].mean())
        assert part.last == pytest.approx((own + c)[:, 1].mean())


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_parts_are_means_over_all_orders(count):
    """By definition, order by order, and efficient: they sum to the whole."""
    from itertools import permutations

    results = games(count)
    means = {members: draws[:, 1].mean() for members, draws in results.items()}
    orders = list(permutations(range(count)))
    parts = attributed(results, count)
    for player in range(count):
        steps = [
            means[frozenset(order[: order.index(player) + 1])]
            - means[frozenset(order[: order.index(player)])]
            for order in orders
        ]
        assert parts[player].value == pytest.approx(np.mean(steps), rel=1e-10)
    whole = means[frozenset(range(count))] - means[frozenset()]
    assert sum(part.value for part in parts) == pytest.approx(whole, rel=1e-10)
    total = sum(np.abs(weights(count, members)).sum() for members in subsets(count))
    assert total == pytest.approx(2 * count)


def test_quantity_that_some_mixture_lacks_has_no_parts():
    results = games(2)
    results[frozenset({1})] = np.full((50, 2), np.nan)
    players = [("a",), ("b",)]

    def result(names):
        members = frozenset(("a", "b").index(name) for name in names)
        values = {"gain": results[members], "regret": games(2)[members]}
        return Sample(options=("do_nothing", "a"), values=values, chain=None, choice="a")

    parts = attribute(players, result, ["a"]).parts["a"]
    assert set(parts) == {"regret"}


def test_comparison_says_which_posterior_did_not_converge(tmp_path, runs):
    older, newer = (read_past(runs[name], "RUN") for name in ("old", "costs"))
    older.summary["sampler"] = {"converged": False}
    notes = compare_past(older, newer)["notes"]
    assert any("older run did not converge" in note for note in notes)
