"""Figures: legible at printed size, deterministic, one colour an option."""

import itertools
import math

import matplotlib as mpl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from reports.canvas import FATE_FILL, WIDTH_IN, house_style, setting_of, short
from reports.figures import FIGURES, rank_distribution, sea_intervals, shares_first, write_figures
from reports.palette import PALETTE, colours_of
from reports.risk_figures import RISK_FIGURES
from tests.reports.summaries import (
    CASES,
    bought_instead,
    clear_winner,
    funded,
    many_options,
    many_priced,
    nothing_worth_funding,
    split_decision,
    summary,
    unattainable,
)

LONG = [f"reliability programme of vendor {i} with optics, spares and staff" for i in range(10)]
WIDE = ["W" * 60 + str(i) for i in range(10)]

DRAWN = {
    **CASES,
    "long_names": lambda: many_options(LONG),
    "wide_names": lambda: many_options(WIDE),
    "hostile_names": lambda: many_options(
        [f"{text}{i}" for i, text in enumerate(["$x$", r"\frac{a}{b}", "a\nb", "<b>", "日本"] * 2)]
    ),
}


PRICED = {
    **{name: case for name, case in CASES.items() if "economics" in case()},
    "long_names": lambda: many_priced(LONG),
    "wide_names": lambda: many_priced(WIDE),
    "hostile_names": lambda: many_priced(
        [f"{text}{i}" for i, text in enumerate(["$x$", r"\frac{a}{b}", "a\nb", "<b>", "日本"] * 2)]
    ),
}


def draw(name, base):
    run = summary(base)
    drawing = {**FIGURES, **RISK_FIGURES}[name]
    return drawing(run["answers"][0], setting_of(run, run["answers"][0]))


def texts(figure):
    """Visible texts with their boxes, in pixels; labels of ticks off the axis are not drawn."""
    with house_style():
        figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    hidden = set()
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            low, high = sorted(limits)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low <= tick.get_loc() <= high:
                    hidden |= {tick.label1, tick.label2}
    shown = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in hidden
    ]
    with house_style():
        return [(text, text.get_window_extent(renderer)) for text in shown]


def overlapping(boxes):
    """Pairs of texts that cover more than a pixel of each other both ways."""
    return [
        (one, other)
        for (one, first), (other, second) in itertools.combinations(boxes, 2)
        if min(first.x1, second.x1) - max(first.x0, second.x0) > 1
        and min(first.y1, second.y1) - max(first.y0, second.y0) > 1
    ]


@pytest.mark.parametrize(
    ("name", "base"),
    [
        pytest.param(name, case, id=f"{label}-{name}")
        for names, cases in ((FIGURES, DRAWN), (RISK_FIGURES, PRICED))
        for label, case in cases.items()
        for name in names
    ],
)
def test_figure_keeps_its_texts_on_the_canvas_and_apart(name, base):
    figure = draw(name, base())
    width, height = figure.canvas.get_width_height()
    boxes = texts(figure)
    for text, box in boxes:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y1 <= height + 1, text
    assert overlapping(boxes) == []


def test_overlap_check_finds_an_overlap():
    figure = draw("four_fates", clear_winner())
    figure.axes[0].annotate("over the title", (0.1, 0.98), xycoords="figure fraction", va="top")
    assert len(overlapping(texts(figure))) == 1


@pytest.mark.parametrize("name", [*FIGURES, *RISK_FIGURES])
def test_figure_prints_at_text_width_in_eight_points_or_more(name):
    figure = draw(name, many_priced())
    assert figure.get_figwidth() == pytest.approx(WIDTH_IN)
    assert figure.get_figheight() < 6
    assert min(text.get_fontsize() for text, _ in texts(figure)) >= 8.0


@pytest.mark.parametrize("name", [*FIGURES, *RISK_FIGURES])
def test_figure_states_its_regime_and_labels_its_axis(name):
    figure = draw(name, funded() | {"regime": "unreliable_flat"})
    assert "unreliable_flat" in figure.get_supxlabel()
    assert figure.axes[-1].get_xlabel()


def title(name, base):
    return " ".join(draw(name, base).get_suptitle().split())


def test_titles_say_the_finding():
    assert title("sea_intervals", split_decision()).startswith(
        "Up to the price of 920 accelerators halve_failures pays in nine draws of ten"
    )
    assert title("sea_intervals", nothing_worth_funding()) == (
        "No option on the list is worth funding"
    )
    assert title("shares_first", split_decision()) == (
        "fast_checkpoint ranks first in 37.2 ± 0.7% of draws, halve_failures in 33.7 ± 0.7%"
    )
    assert title("rank_distribution", clear_winner()).startswith("halve_failures ranks first in 83")
    assert "largest loss is blocked: 34.5%" in title("four_fates", clear_winner())


def test_colour_of_an_option_is_the_same_in_every_figure_and_regime():
    first = split_decision()
    second = split_decision() | {"regime": "other"}
    second["options"] = second["options"][::-1]
    run = summary(first, second)
    one, other = (setting_of(run, answer).colours for answer in run["answers"])
    assert one == other
    assert one["fast_checkpoint"] == PALETTE[3]
    assert one["fast_restart"] == PALETTE[5]
    assert len({one[option["option"]] for option in first["options"]}) == len(first["options"])

    answer, setting = run["answers"][0], setting_of(run, run["answers"][0])
    bars = sea_intervals(answer, setting).axes[0].patches
    marks = [
        line for line in shares_first(answer, setting).axes[0].lines if line.get_marker() == "D"
    ]
    for row, option in enumerate(answer["options"][:3]):
        expected = to_rgb(one[option["option"]])
        assert to_rgb(bars[row].get_facecolor()) == pytest.approx(expected)
        assert to_rgb(marks[row].get_color()) == pytest.approx(expected)


def test_titles_of_a_decision_say_the_finding():
    assert title("break_even", funded()) == (
        "fast_checkpoint costs less than it is worth in 97.1 ± 0.4% of draws"
    )
    assert title("break_even", bought_instead()) == (
        "At its cost no option brings more than accelerators do"
    )
    assert title("acceptability", funded()) == (
        "fast_checkpoint stays the best expected choice up to 2.0 times the costs, then doing"
        " nothing"
    )
    assert title("acceptability", bought_instead()) == (
        "Doing nothing stays the best expected choice at up to 3.0 times the costs"
    )
    assert title("expected_loss", funded()).startswith(
        "At these costs choosing fast_checkpoint loses 196 ± 2 productive accelerators"
    )


def test_frontier_is_drawn_as_it_is_given():
    base = funded()
    shares = [0.1, 0.2, 0.3, 0.4, 0.5]
    base["economics"]["curves"]["frontier"]["p_best"] = shares
    axes = draw("acceptability", base).axes[0]
    [frontier] = [line for line in axes.lines if line.get_label() == "frontier"]
    assert list(frontier.get_ydata()) == pytest.approx([100 * share for share in shares])


def test_option_over_the_budget_has_no_curve_where_it_cannot_be_chosen():
    base = bought_instead()
    base["economics"]["curves"]["p_best"]["halve_failures"] = [0.6, 0.3, 0.0, 0.0, 0.0]
    base["economics"]["curves"]["expected_loss"]["halve_failures"] = [5.0, 9.0, None, None, None]
    axes = draw("expected_loss", base).axes[0]
    [curve] = [line for line in axes.lines if line.get_label() == "halve_failures"]
    assert list(curve.get_ydata())[:2] == [5.0, 9.0]
    assert all(math.isnan(value) for value in list(curve.get_ydata())[2:])


def test_curves_are_told_apart_without_colour():
    axes = draw("acceptability", many_priced()).axes[0]
    looks = [
        (line.get_linestyle(), line.get_marker())
        for line in axes.lines
        if line.get_marker() not in ("None", "", None)
    ]
    assert len(looks) >= 4
    assert len(set(looks)) == len(looks)


def test_costs_are_marked_where_they_are():
    axes = draw("break_even", funded()).axes[0]
    marks = [x for line in axes.lines if line.get_marker() == "|" for x in line.get_xdata()]
    assert marks == [120.0, 700.0, 140.0]


def luminance(colour):
    """Relative luminance of sRGB, ITU-R BT.709."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_fates_stay_apart_in_greyscale():
    greys = sorted(luminance(fill) for fill, _ in FATE_FILL.values())
    hatches = [hatch for _, hatch in FATE_FILL.values()]
    assert greys[0] < 0.15
    assert min(b - a for a, b in itertools.pairwise(greys)) > 0.1
    assert len(set(hatches)) == 3


def test_sea_intervals_draw_an_arrow_only_where_something_cannot_be_bought():
    def arrows(base):
        axes = draw("sea_intervals", base).axes[0]
        return [line for line in axes.lines if line.get_marker() == ">"]

    assert len(arrows(unattainable())) == 3
    assert arrows(clear_winner()) == []
    words = [text.get_text() for text, _ in texts(draw("sea_intervals", unattainable()))]
    assert words.count("cannot be bought") == 2
    assert "−2,640" in words


def test_sea_intervals_hold_negative_values_within_the_axis():
    low, high = draw("sea_intervals", nothing_worth_funding()).axes[0].get_xlim()
    assert low < -396.0
    assert high > 0.0


def test_shares_show_the_priors_only_where_they_differ_in_kind():
    def legend(**question):
        run = summary(split_decision(), question=question)
        figure = shares_first(run["answers"][0], setting_of(run, run["answers"][0]))
        return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]

    assert legend() == ["posterior, ± simulation error", "priors alone"]
    assert legend(source="prior", evidence=[]) == ["priors, ± simulation error"]


def test_rank_distribution_prints_the_shares_it_is_given():
    base = clear_winner()
    for option, ranks in zip(
        base["options"], ([0.83, 0.17, 0.0], [0.17, 0.83, 0.0], [0.0, 0.0, 1.0]), strict=True
    ):
        option["ranks"] = ranks
    run = summary(base)
    figure = rank_distribution(run["answers"][0], setting_of(run, run["answers"][0]))
    cells = [text.get_text() for text in figure.axes[0].texts]
    assert cells == ["83", "17", "", "17", "83", "", "", "", "100"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bandwidth_2x", "bandwidth_2x"),
        ("one\ntwo", "one two"),
        ("x" * 30, "x" * 24 + "\n" + "x" * 6),
        ("x" * 90, "x" * 24 + "\n" + "x" * 23 + "…"),
        ("", ""),
    ],
)
def test_short_name_takes_two_lines_at_most(name, expected):
    assert short(name) == expected


def test_unconverged_run_marks_every_figure():
    run = summary(clear_winner())
    run["sampler"] |= {"converged": False, "reasons": ["12 divergences"]}
    setting = setting_of(run, run["answers"][0])
    assert setting.caption.startswith("NOT CONVERGED")


def test_write_figures_writes_the_same_bytes_and_leaves_settings_alone(tmp_path):
    run = summary(split_decision())
    before = {name: value for name, value in mpl.rcParams.items() if name != "backend"}
    first = [path.read_bytes() for path in write_figures(run, tmp_path / "a")]
    with mpl.rc_context({"font.size": 20.0, "axes.facecolor": "red", "savefig.dpi": 30}):
        second = [path.read_bytes() for path in write_figures(run, tmp_path / "b")]
    assert [path.stem for path in sorted((tmp_path / "a").iterdir())] == sorted(FIGURES)
    assert first == second
    assert {name: mpl.rcParams[name] for name in before} == before
    assert not any(b"matplotlib" in content.lower() for content in first)
    assert all(content.startswith(b"\x89PNG") for content in first)


def test_figures_of_a_decision_come_with_costs_only(tmp_path):
    written = {path.stem for path in write_figures(summary(funded()), tmp_path)}
    assert written == {*FIGURES, *RISK_FIGURES}


def test_figures_leave_no_state_in_pyplot(tmp_path):
    write_figures(summary(clear_winner()), tmp_path)
    from matplotlib import pyplot as plt

    assert plt.get_fignums() == []


def test_colour_of_an_option_is_the_same_in_every_run():
    alone, among = colours_of(["reliability_2x"]), colours_of(["a", "reliability_2x", "zz"])
    assert alone["reliability_2x"] == among["reliability_2x"] == PALETTE[7]
    assert len(set(among.values())) == len(among)
    # With more options than colours each option still has one, and neighbours differ.
    many = colours_of([f"option_{k:02}" for k in range(30)])
    assert len(many) == 31
    assert all(many[f"option_{k:02}"] != many[f"option_{k + 1:02}"] for k in range(29))


def test_colours_stay_apart_from_the_paper_they_are_on():
    from reports.palette import ON_DARK

    white, dark = 1.0, luminance("#14181b")
    for on_light, on_dark in zip(PALETTE, ON_DARK, strict=True):
        assert (white + 0.05) / (luminance(on_light) + 0.05) > 1.9
        assert (luminance(on_dark) + 0.05) / (dark + 0.05) > 4.5
