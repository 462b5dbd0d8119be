import copy

import matplotlib as mpl
import pytest

from priors.catalogue import read_catalogue
from priors.draws import prior_draws
from reports.driver_figures import figures_of, setting_of_study, write_driver_figures
from studies.drivers.factors import built_in_groups
from studies.drivers.study import Plan, study_question
from studies.drivers.summary import describe_study
from tests.studies.test_quick_drivers import QUESTION


@pytest.fixture(scope="module")
def content():
    catalogue = read_catalogue()
    draws = prior_draws(catalogue, 600, 1)
    plan = Plan(methods=("sobol",), groups=built_in_groups(draws.paths), points=64)
    study = study_question(QUESTION, draws, catalogue, plan)
    return {
        "question": {
            "scenario": "case",
            "accelerators": 16384,
            "draws": 600,
            "source": "prior",
            "source_words": "from the priors alone, independent",
        },
        "converged": True,
        "answers": [describe_study(study, regime="")],
    }


def drawn(content):
    answer = content["answers"][0]
    setting = setting_of_study(content, answer)
    return {name: draw(answer, setting) for name, draw in figures_of(answer).items()}


def texts(figure):
    found = [figure.get_suptitle(), figure.get_supxlabel()]
    for axes in figure.axes:
        found += [text.get_text() for text in axes.texts]
        found += [label.get_text() for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    return found


def test_figures_say_finding_and_regime(content):
    figures = drawn(content)
    assert len(figures) == 5
    for name, figure in figures.items():
        assert figure.get_suptitle(), name
        assert "16,384" in figure.get_supxlabel().replace("\n", " "), name
    heading = figures["drivers_heatmap"].get_suptitle().replace("\n", " ")
    assert heading.startswith("failure_rate_per_node_day and checkpoint_write_s decide")


def test_heatmap_cells_are_the_indices_in_percent(content):
    answer = content["answers"][0]
    axes = drawn(content)["drivers_heatmap"].axes[0]
    effects = answer["effects"][0]
    row = effects["targets"].index("winner")
    order = [driver["factor"] for driver in answer["winner"]]
    shown = {(text.get_position()): text.get_text() for text in axes.texts}
    for y, name in enumerate(order):
        value = effects["total"][row][effects["factors"].index(name)]
        assert shown[(0, y)] == (f"{100 * value:.0f}" if value >= 0.005 else "")


def test_switching_figure_shows_each_flip(content):
    answer = content["answers"][0]
    labels = texts(drawn(content)["drivers_switching"])
    for switch in answer["switching"]:
        for flip in switch["flips"]:
            assert any(label.startswith(f"{flip['value']:.3g} [") for label in labels)


def test_tree_figure_names_each_region(content):
    labels = texts(drawn(content)["drivers_tree"])
    for region in content["answers"][0]["regions"]:
        assert any(f"{100 * region['density']:.0f}% first" in label for label in labels)


def test_figure_of_an_unconverged_study_says_so(content):
    alarmed = {**content, "converged": False}
    for figure in drawn(alarmed).values():
        assert figure.get_supxlabel().startswith("NOT CONVERGED")


def test_figures_leave_out_what_there_is_not(content):
    answer = copy.deepcopy(content["answers"][0])
    answer["effects"][0]["second"] = None
    answer["switching"] = []
    assert set(figures_of(answer)) == {"drivers_heatmap", "drivers_bars", "drivers_tree"}
    answer["effects"][0]["constant"]["winner"] = "a always ranks first"
    assert "drivers_bars" not in figures_of(answer)


def test_writing_figures_repeats_and_changes_nothing_global(content, tmp_path):
    before = dict(mpl.rcParams)
    for name in ("a", "b"):
        write_driver_figures(content, tmp_path / name)
    assert dict(mpl.rcParams) == before
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert len(files) == 5
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
