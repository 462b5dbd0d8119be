"""The reproduction study as pictures: tables in, Matplotlib figures out.

Drawn for print at full text width: every figure says its finding in the title, its units on the
axes and its case below; what colour tells, a mark, a letter or a hatch tells too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from reports.canvas import DPI, house_style
from reports.study_fidelity_figure import cross_fidelity
from reports.study_ranking_figures import decision_map, rank_stability, sea_by_regime
from reports.study_scale_figures import informal_bias, scaling_and_marginal, where_time_goes
from reports.study_style import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A figure of the study.

    Parameters
    ----------
    needs
        Keys of the tables it is drawn from.
    draw
        Draws it.
    """

    needs: tuple[str, ...]
    draw: Callable[[Tables], Figure]


FIGURES: Mapping[str, Drawn] = {
    "fig1_where_time_goes": Drawn(needs=("e1",), draw=where_time_goes),
    "fig2_scaling_and_marginal": Drawn(needs=("e9", "e9 marginal"), draw=scaling_and_marginal),
    "fig3_decision_map": Drawn(needs=("e3 exact",), draw=decision_map),
    "fig4_sea_by_regime": Drawn(needs=("e2",), draw=sea_by_regime),
    "fig5_informal_bias": Drawn(needs=("e5",), draw=informal_bias),
    "fig6_rank_stability": Drawn(needs=("e7", "e7 exact"), draw=rank_stability),
    "fig7_cross_fidelity": Drawn(needs=("e8 fine", "e8 processes"), draw=cross_fidelity),
}


def write_study_figures(tables: Tables, directory: Path) -> list[Path]:
    """Write the figures whose tables are there as PNG; same tables, same bytes.

    Parameters
    ----------
    tables
        Tables of the experiments by key.
    directory
        Where to; created where it is missing.

    Returns
    -------
    list of Path
        The files written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in FIGURES.items():
        if not set(figure.needs) <= set(tables):
            continue
        path = directory / f"{name}.png"
        with house_style():
            # The library's version would otherwise stand in the file.
            figure.draw(tables).savefig(path, dpi=DPI, metadata={"Software": None})
        paths.append(path)
    return paths
