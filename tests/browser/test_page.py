"""The page for the meeting, in a real browser, against the program on the same run."""

import itertools
import json
import math
import re
import shutil

import numpy as np
import pytest

from reports import page
from tests.browser.runs import COSTS, IN_MONEY, TWINS, Program, with_page
from tests.browser.viewing import (
    READY,
    SCHEMES,
    WIDTHS,
    asked_elsewhere,
    misplaced,
    opened,
    violations,
)

WITHIN = 1e-6
"""Of a figure, relative where it is above one: as the page promises."""

VECTORS = 100
A_FEW = 12

SET = """(settings) => settings.map(({ costs, price, budget, regime }) => {
  const put = (element, value, event = 'input') => {
    element.value = String(value);
    element.dispatchEvent(new Event(event, { bubbles: true }));
  };
  for (const row of document.querySelectorAll('#rows tr')) {
    const value = costs[row.dataset.option];
    if (value !== undefined) put(row.querySelector('input[type=number]'), value);
  }
  put(document.getElementById('price'), price);
  const largest = document.getElementById('largest');
  if (budget === null) {
    largest.checked = true;
    largest.dispatchEvent(new Event('change'));
  } else put(document.getElementById('budget'), budget);
  return window.figures();
})"""

FIGURES = """window.figures = () => {
  const head = document.getElementById('verdict').dataset;
  const found = {
    choice: head.choice ?? null, lead: head.lead ? Number(head.lead) : null,
    evpi: Number(head.evpi), rows: {},
  };
  for (const row of document.querySelectorAll('#rows tr')) {
    const [pays, net, best, loss] = [...row.querySelectorAll('.figure')].map((figure) =>
      figure.dataset.value === undefined ? null : Number(figure.dataset.value));
    found.rows[row.dataset.option] = { pays, net, best, loss };
  }
  return found;
}"""


@pytest.fixture(scope="module")
def in_accelerators(tmp_path_factory):
    """Eleven options, two with uncertain costs, the budget not stated."""
    directory = tmp_path_factory.mktemp("accelerators")
    (directory / "costs.yaml").write_text(COSTS)
    costs = str(directory / "costs.yaml")
    return with_page(directory / "run", "--draws", "400", "--costs", costs)


@pytest.fixture(scope="module")
def in_money(tmp_path_factory):
    """Prices in a currency, shared and uncertain costs, a budget, dislike of risk, two regimes."""
    directory = tmp_path_factory.mktemp("money")
    (directory / "costs.yaml").write_text(IN_MONEY)
    only = "reliability_2x,fast_restart,fast_checkpoint,straggler_control"
    arguments = ("--draws", "400", "--costs", str(directory / "costs.yaml"), "--only", only)
    more = ("--budget", "500", "--risk-tolerance", "800", "--regime", "all")
    return with_page(directory / "run", *arguments, *more)


@pytest.fixture(scope="module")
def without_costs(tmp_path_factory):
    """Options that tie, that do nothing, and that come late or not at all; no costs."""
    directory = tmp_path_factory.mktemp("twins")
    (directory / "twins.yaml").write_text(TWINS)
    interventions = str(directory / "twins.yaml")
    return with_page(directory / "run", "--draws", "300", "--interventions", interventions)


def ready(view):
    view.wait_for_function(READY)
    view.evaluate(FIGURES)


def agree(figures, expected, options, where):
    """The figures of the page are those of the program."""
    assert figures["choice"] == expected["choice"], where
    for name in ("lead", "evpi"):
        if expected[name] is None:
            assert figures[name] is None, where
        else:
            expected_figure = pytest.approx(expected[name], rel=WITHIN, abs=WITHIN)
            assert figures[name] == expected_figure, (where, name)
    for k, option in enumerate(options):
        for name in ("pays", "net", "best", "loss"):
            shown, said = figures["rows"][option][name], expected[name][k]
            if k == 0 and name in ("pays", "net"):
                assert shown is None
            elif math.isnan(said):
                assert shown is None, (where, option, name)
            else:
                assert shown == pytest.approx(said, rel=WITHIN, abs=WITHIN), (where, option, name)


def settings_for(program, generator, reach, *, unit=1.0, price=1.0):
    """Random costs with zeros, equal costs and costs of exactly the budget; prices, budgets."""
    count = program.expected.size
    costs = np.round(generator.uniform(0.0, reach / 3, count), int(generator.integers(0, 4)))
    costs[generator.random(count) < 0.2] = 0.0
    if generator.random() < 0.3:
        costs[1:] = costs[1]
    costs[0] = 0.0
    factor = float(np.round(3.0 ** generator.uniform(-0.99, 0.99), 3))
    budget = None if generator.random() < 0.5 else float(generator.choice(costs))
    if budget == 0.0 and generator.random() < 0.8:
        budget = float(np.round(reach / 4))
    asked = {
        "costs": dict(zip(program.options[1:], (costs[1:] * unit).tolist(), strict=True)),
        "price": factor * price,
        "budget": budget,
    }
    return asked, costs / factor, budget


def test_page_asks_for_nothing_and_complains_of_nothing(browser, in_accelerators):
    file = in_accelerators / "page.html"
    with opened(browser, file) as (view, heard):
        ready(view)
        view.locator("#rows input[type=range]").first.focus()
        view.keyboard.press("ArrowRight")
        view.locator(".plot").first.hover()
        view.wait_for_timeout(50)
        assert heard.complaints == []
        assert asked_elsewhere(heard, file) == []


def test_page_may_not_fetch(browser, in_accelerators):
    with opened(browser, in_accelerators / "page.html") as (view, heard):
        ready(view)
        refused = view.evaluate("fetch('https://example.invalid/').then(() => false, () => true)")
        assert refused
        assert any("Content Security Policy" in text for text in heard.complaints)


@pytest.mark.parametrize("regime", ["", "unreliable_flat"])
def test_page_opens_with_the_figures_of_the_run(browser, in_accelerators, in_money, regime):
    directory = in_money if regime else in_accelerators
    summary = json.loads((directory / "summary.json").read_text())
    answer = next(one for one in summary["answers"] if one["regime"] == regime)
    fragment = f"#regime={regime}" if regime else ""
    with opened(browser, directory / "page.html", fragment=fragment) as (view, _):
        ready(view)
        figures = view.evaluate("window.figures()")
    economics = answer["economics"]
    assert figures["choice"] == economics["decision"]["option"]
    assert figures["evpi"] == pytest.approx(economics["perfect_information"]["value"], rel=WITHIN)
    names = {"pays": "p_pays", "net": "net_value", "best": "p_best", "loss": "expected_loss"}
    for one in economics["options"]:
        row = figures["rows"][one["option"]]
        for shown, stored in names.items():
            record = one[stored]
            if record is None or not one["feasible"]:
                continue
            if one["option"] != "do_nothing" or shown in ("best", "loss"):
                expected = pytest.approx(record["value"], rel=WITHIN, abs=WITHIN)
                assert row[shown] == expected, (one["option"], shown)


@pytest.mark.parametrize("count", [A_FEW, pytest.param(VECTORS, marks=pytest.mark.slow)])
def test_page_decides_as_the_program_at_random_costs(browser, in_accelerators, count):
    program = Program.of(in_accelerators)
    generator = np.random.default_rng(count)
    drawn = [settings_for(program, generator, 2700.0) for _ in range(count)]
    with opened(browser, in_accelerators / "page.html") as (view, heard):
        ready(view)
        shown = view.evaluate(SET, [asked for asked, _, _ in drawn])
        assert heard.complaints == []
    chosen = set()
    for index, (figures, (_, costs, budget)) in enumerate(zip(shown, drawn, strict=True)):
        expected = program.decide(costs, budget)
        agree(figures, expected, program.options, index)
        chosen.add(expected["choice"])
    assert len(chosen) >= 3  # the settings are not all of one kind


def test_page_decides_as_the_program_in_money_under_a_regime(browser, in_money):
    program = Program.of(in_money, "unreliable_flat")
    generator = np.random.default_rng(8)
    unit = 41000 * 730 / 1095
    drawn = [settings_for(program, generator, 1500.0, unit=unit, price=41000.0) for _ in range(20)]
    with opened(browser, in_money / "page.html", fragment="#regime=unreliable_flat") as (view, _):
        ready(view)
        shown = view.evaluate(SET, [asked for asked, _, _ in drawn])
    for index, (figures, (_, costs, budget)) in enumerate(zip(shown, drawn, strict=True)):
        agree(figures, program.decide(costs, budget), program.options, index)


def test_page_shares_first_place_between_options_that_tie(browser, without_costs):
    program = Program.of(without_costs)
    settings = [
        {"costs": dict.fromkeys(program.options[1:], cost), "price": 1, "budget": budget}
        for cost, budget in ((0, None), (0, 0), (100, None), (250, 400))
    ]
    with opened(browser, without_costs / "page.html") as (view, _):
        ready(view)
        shown = view.evaluate(SET, settings)
    for figures, asked in zip(shown, settings, strict=True):
        costs = np.array([0.0, *asked["costs"].values()])
        agree(figures, program.decide(costs, asked["budget"]), program.options, asked)
        twins = [figures["rows"][name] for name in ("first_twin", "second_twin")]
        assert twins[0] == pytest.approx(twins[1], rel=1e-12)
    assert shown[0]["rows"]["idle"]["pays"] == 0.0


def test_curves_over_the_price_are_those_of_the_program(browser, in_accelerators):
    program = Program.of(in_accelerators)
    with opened(browser, in_accelerators / "page.html") as (view, _):
        ready(view)
        view.wait_for_selector(".reading li")
        for chart, name in enumerate(("best", "loss")):
            plot, reading = view.locator(".plot").nth(chart), view.locator(".reading").nth(chart)
            plot.focus()
            view.keyboard.press("Home")
            for _ in range(5):
                price = float(reading.get_attribute("data-price"))
                expected = program.decide(program.expected / price, None)[name]
                items = reading.locator("li")
                for item in range(items.count()):
                    option = items.nth(item).get_attribute("data-option")
                    value = float(items.nth(item).get_attribute("data-value"))
                    said = expected[program.options.index(option)]
                    assert value == pytest.approx(said, rel=WITHIN, abs=WITHIN), (price, option)
                view.keyboard.press("PageUp")
            assert price == pytest.approx(3.0)


def test_slider_by_mouse_changes_the_decision_as_the_program_does(browser, in_accelerators):
    program = Program.of(in_accelerators)
    with opened(browser, in_accelerators / "page.html") as (view, _):
        ready(view)
        before = view.evaluate("window.figures()")["choice"]
        row = view.locator(f'#rows tr[data-option="{before}"]')
        box = row.locator("input[type=range]").bounding_box()
        view.mouse.move(box["x"] + 3, box["y"] + box["height"] / 2)
        view.mouse.down()
        view.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2, steps=5)
        view.mouse.up()
        figures = view.evaluate("window.figures()")
        costs = program.expected.copy()
        cost = float(row.locator("input[type=number]").input_value())
        costs[program.options.index(before)] = cost
        assert cost > 1000
        assert figures["choice"] != before
        agree(figures, program.decide(costs, None), program.options, "mouse")
        assert view.evaluate("location.hash") == f"#cost.{before}={cost:g}"


def test_slider_by_keyboard_changes_the_decision_as_the_program_does(browser, in_accelerators):
    program = Program.of(in_accelerators)
    with opened(browser, in_accelerators / "page.html") as (view, _):
        ready(view)
        before = view.evaluate("window.figures()")["choice"]
        row = view.locator(f'#rows tr[data-option="{before}"]')
        row.locator("input[type=range]").focus()
        view.keyboard.press("End")
        costs = program.expected.copy()
        reach = float(row.locator("input[type=number]").input_value())
        costs[program.options.index(before)] = reach
        figures = view.evaluate("window.figures()")
        assert figures["choice"] != before
        agree(figures, program.decide(costs, None), program.options, "End")
        view.keyboard.press("Home")
        view.keyboard.press("ArrowRight")
        costs[program.options.index(before)] = reach / 1000
        agree(view.evaluate("window.figures()"), program.decide(costs, None), program.options, "→")


def test_every_control_is_reached_by_tab_alone(browser, in_accelerators):
    with opened(browser, in_accelerators / "page.html") as (view, _):
        ready(view)
        wanted = view.evaluate("document.querySelectorAll('input, button, .plot, summary').length")
        seen = set()
        for _ in range(2 * wanted):
            view.keyboard.press("Tab")
            seen.add(
                view.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
            )
        assert len(seen) >= wanted


def test_settings_travel_in_the_link_and_reset_takes_them_back(browser, in_money):
    fragment = "#regime=typical&price=1.5&budget=300&cost.fast_restart=1000000&cost.nobody=3"
    with opened(browser, in_money / "page.html", fragment=fragment) as (view, _):
        ready(view)
        assert view.locator("#regime option:checked").inner_text() == "typical"
        assert float(view.input_value("#price")) == 61500
        assert float(view.input_value("#budget")) == 300
        row = view.locator('#rows tr[data-option="fast_restart"]')
        assert float(row.locator("input[type=number]").input_value()) == 1e6
        assert "cost.nobody=3" in view.inner_text("#problem")
        moved = view.evaluate("window.figures()")
        view.evaluate("location.hash = '#regime=unreliable_flat'")
        view.wait_for_function("() => document.getElementById('price').value === '41000'")
        assert view.evaluate("window.figures()") != moved
        view.click("#reset")
        view.wait_for_function("() => document.getElementById('reset').ariaDisabled === 'true'")
        assert view.evaluate("location.hash") in ("", "#")
        assert view.input_value("#price") == "41000"
        assert view.input_value("#budget") == "500"


def test_page_says_what_it_cannot_take_and_what_lies_beyond(browser, in_accelerators):
    with opened(browser, in_accelerators / "page.html") as (view, _):
        ready(view)
        before = view.evaluate("window.figures()")
        field = view.locator('#rows tr[data-option="fast_restart"] input[type=number]')
        field.fill("-3")
        assert "fast_restart" in view.inner_text("#problem")
        assert field.get_attribute("aria-invalid") == "true"
        assert view.evaluate("window.figures()") == before
        field.fill("1000000")
        assert "Rank again" in view.inner_text("#problem")
        assert view.evaluate("window.figures()")["choice"] is None
        field.fill("60")
        assert view.inner_text("#problem") == ""
        assert view.evaluate("window.figures()")["choice"] == before["choice"]


RUNS = ("in_accelerators", "in_money", "without_costs")

AT_ONCE = (("in_accelerators", 390, "light"), ("in_money", 1440, "dark"))
"""Views of every change; the others are looked at with the long tests."""

VIEWS = [
    pytest.param(*view, marks=[] if view in AT_ONCE else pytest.mark.slow)
    for view in itertools.product(RUNS, WIDTHS, SCHEMES)
]


@pytest.mark.parametrize(("run", "width", "scheme"), VIEWS)
def test_page_fits_the_window_and_nothing_overlaps(browser, request, run, width, scheme):
    file = request.getfixturevalue(run) / "page.html"
    with opened(browser, file, width=width, scheme=scheme) as (view, _):
        ready(view)
        view.wait_for_selector(".reading li")
        assert misplaced(view) == []
        assert violations(view) == []


def test_page_fits_the_paper(browser, in_accelerators):
    file = in_accelerators / "page.html"
    with opened(browser, file, width=690, scheme="dark", media="print") as (view, _):
        ready(view)
        view.wait_for_selector(".reading li")
        assert misplaced(view) == []
        ink = view.evaluate("getComputedStyle(document.body).color")
        assert ink == "rgb(34, 34, 34)"
        assert view.locator("input[type=range]").first.is_hidden()


def test_misplaced_finds_what_it_should(browser, in_accelerators):
    with opened(browser, in_accelerators / "page.html", width=390) as (view, _):
        ready(view)
        view.evaluate("document.querySelector('h1').style.width = '600px'")
        assert any("wide" in one for one in misplaced(view))
        view.evaluate("document.querySelector('h1').style.cssText = 'margin-bottom: -30px'")
        assert any("lies on" in one for one in misplaced(view))


def test_page_of_a_posterior_that_did_not_converge_funds_nothing_for_sure(
    browser, in_accelerators, tmp_path
):
    run = tmp_path / "run"
    shutil.copytree(in_accelerators, run)
    summary = json.loads((run / "summary.json").read_text())
    summary["sampler"] = {"converged": False, "reasons": ["R-hat 1.4"]}
    (run / "summary.json").write_text(json.dumps(summary))
    assert page.main([str(run)]) == 0
    with opened(browser, run / "page.html") as (view, _):
        ready(view)
        assert "NOT CONVERGED (R-hat 1.4)" in view.inner_text("#alarms")
        assert view.inner_text("#verdict").startswith("If these figures held: fund ")


def test_unreadable_data_is_said_so(browser, in_accelerators, tmp_path):
    text = (in_accelerators / "page.html").read_text()
    broken = tmp_path / "broken.html"
    broken.write_text(re.sub(r'"data":"[^"]{40}', '"data":"' + "A" * 40, text, count=1))
    with opened(browser, broken) as (view, _):
        view.wait_for_selector("#failure:not([hidden])")
        assert "cannot open the page" in view.inner_text("#failure")


PAIRS = (
    "reliability_2x+fast_restart",
    "reliability_2x+fast_checkpoint",
    "reliability_2x+straggler_control",
    "fast_restart+fast_checkpoint",
    "fast_restart+straggler_control",
    "fast_checkpoint+straggler_control",
    "bandwidth_2x+flat_fabric",
    "fast_detection+fast_restart",
    "bandwidth_4x+reliability_2x",
)

LARGEST_BYTES = 5_000_000

ANSWERS_WITHIN_S = 0.1

MOVE = """() => {
  const sliders = [document.getElementById('price-slider'),
    ...document.querySelectorAll('#rows input[type=range]')];
  return sliders.flatMap((slider, index) => [0.3, 0.6].map((share) => {
    const [low, high] = [Number(slider.min), Number(slider.max)];
    slider.value = String(low + share * (high - low) + index);
    const start = performance.now();
    slider.dispatchEvent(new Event('input'));
    return performance.now() - start;
  }));
}"""


@pytest.mark.slow
def test_twenty_options_on_twenty_thousand_draws_stay_small_and_answer_at_once(browser, tmp_path):
    """The fastest moves are counted: a busy machine delays some, a slow page all."""
    single = [line.split(":")[0].strip() for line in COSTS.splitlines() if line[:2] == "  "]
    (tmp_path / "costs.yaml").write_text(
        "interventions:\n" + "".join(f"  {n}: {100 + 40 * i}\n" for i, n in enumerate(single))
    )
    bundles = [f for i, pair in enumerate(PAIRS) for f in ("--bundle", f"pair{i}={pair}")]
    arguments = ("--draws", "20000", "--costs", str(tmp_path / "costs.yaml"), *bundles)
    file = with_page(tmp_path / "run", *arguments) / "page.html"
    assert file.stat().st_size < LARGEST_BYTES
    program = Program.of(file.parent)
    assert len(program.options) == 20
    drawn = [settings_for(program, np.random.default_rng(i), 2400.0) for i in range(5)]
    with opened(browser, file) as (view, heard):
        ready(view)
        shown = view.evaluate(SET, [asked for asked, _, _ in drawn])
        view.click("#reset")
        moves = sorted(view.evaluate(MOVE))
        assert heard.complaints == []
    for index, (figures, (_, costs, budget)) in enumerate(zip(shown, drawn, strict=True)):
        agree(figures, program.decide(costs, budget), program.options, index)
    assert moves[len(moves) // 4] < 1000 * ANSWERS_WITHIN_S


HOSTILE = (
    "</script><script>document.title = 'gone'</script><!--",
    "\u202eright to left\u202c \u05d0\u05d1\u05d2 & {scenario} $data",
    "unbroken" * 38,
    "🚀 $(touch x) #set text(red) **bold** [a](b)",
    "line\u2028separator \u2029 and\ttab",
)


def test_page_shows_hostile_text_as_text(browser, tmp_path):
    from ruamel.yaml import YAML

    names = HOSTILE[:4]
    interventions = [
        {
            "name": name,
            "description": HOSTILE[-1 - index] + HOSTILE[0],
            "overrides": {"reliability.restart_time_s": 60 + 20 * index},
        }
        for index, name in enumerate(names)
    ]
    document = tmp_path / "hostile.yaml"
    with document.open("w", encoding="utf-8") as handle:
        YAML(typ="safe", pure=True).dump({"interventions": interventions}, handle)
    run = with_page(tmp_path / "run", "--draws", "100", "--interventions", str(document))
    for width in (1440, 390):
        with opened(browser, run / "page.html", width=width) as (view, heard):
            ready(view)
            view.wait_for_selector(".reading li")
            assert view.title().startswith("What to fund")
            shown = view.locator("#rows .name bdi").all_inner_texts()
            for name in names:
                whole = page.plain(name)
                cut = page.brief(name)
                assert cut in shown
                if cut != whole:
                    assert view.locator(f'bdi[title="{whole}"]').count() > 0
            assert heard.complaints == []
            assert misplaced(view) == []
