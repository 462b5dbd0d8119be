"""The performance figures the project claims, measured section by section in one run."""

import argparse
import importlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model.command import command

if TYPE_CHECKING:
    from types import ModuleType

    from studies.performance.figure import Bench, Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A group of figures: the module whose ``measure`` yields them, and what they are."""

    module: str
    summary: str


SECTIONS = {
    "core": Section(
        module="studies.performance.core",
        summary="the batched ranking against the scalar yardstick, on one core",
    ),
    "commands": Section(
        module="studies.performance.commands",
        summary="whole commands: starts, cold and cached runs, memory against draws",
    ),
    "forms": Section(
        module="studies.performance.forms",
        summary="the refined formulas against the published ones, on one core",
    ),
    "map": Section(
        module="studies.performance.map",
        summary="the decision map: cost of a draw, 144 cells on two cores, memory of 1,000 cells",
    ),
    "growth": Section(
        module="studies.performance.growth",
        summary="how a ranking's cost grows with options, range of pools and draws",
    ),
    "engines": Section(
        module="studies.performance.engines",
        summary="the same formulas with NumPy, numexpr, Numba and JAX",
    ),
    "scaling": Section(
        module="studies.performance.scaling",
        summary="a study of a minute over 1 and 2 processes and 1, 2 and 4 Dask workers",
    ),
    "readers": Section(
        module="studies.performance.readers",
        summary="a training log of 2 GB, and compressed ones: speed and memory",
    ),
}
"""In the order they are measured."""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    width = max(map(len, SECTIONS))
    parser = argparse.ArgumentParser(
        prog="python -m studies.benchmark",
        description="Measures the performance figures the project claims.",
        epilog="\n".join(
            [
                "sections:",
                *(f"  {name:<{width}}  {section.summary}" for name, section in SECTIONS.items()),
                "",
                "example: python -m studies.benchmark --only core",
            ]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=tuple(SECTIONS),
        metavar="SECTION",
        help="measure this section only; repeatable (e.g. --only core: half a minute)",
    )
    return parser


def measure(section: Section, bench: "Bench") -> "Iterator[Line]":
    """The figures of a section, as they are measured."""
    lines: Iterator[Line] = importlib.import_module(section.module).measure(bench)
    yield from lines


def yardstick_of(scalar_model: "ModuleType") -> Callable[[Mapping[str, float]], object]:
    """The function that ranks one draw by the scalar implementation."""

    def rank_one(values: Mapping[str, float]) -> object:
        scenario = scalar_model.with_values(scalar_model.REFERENCE, dict(values))
        return scalar_model.rank_published(scenario, scalar_model.INTERVENTIONS)

    return rank_one


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0 where every claim holds, 1 where one does not, 2 for an error."""
    options = build_parser().parse_args(argv)
    rank_one = None
    try:
        from tests.oracles import scalar_model
    except ImportError:
        pass
    else:
        rank_one = yardstick_of(scalar_model)

    from studies.performance.figure import Bench

    failed = False
    for name in options.only or SECTIONS:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(folder=Path(folder), rank_one=rank_one)
            for line in measure(SECTIONS[name], bench):
                print(line, flush=True)
                failed |= line.holds is False
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
