"""The planner's own files to evidence: recognised, read, and written as YAML.

python -m priors.read nccl.txt train.log --scenario mine.yaml --out evidence.yaml
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from model.command import command
from model.errors import InputError, Problem

if TYPE_CHECKING:
    from priors.readers.found import Found, ReadOptions


WIDE = 100

SHOWN_EVERY = 32 << 20
"""Bytes between two lines of progress."""

FORMATS: tuple[str, ...] = (
    "sacct",
    "goodput",
    "megatron",
    "nemo",
    "maxtext",
    "torchtitan",
    "llm-foundry",
)
FORMATS += ("deepspeed", "nccl-tests", "failure-table")


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Read files, print what they say, and write an evidence file.

    Returns
    -------
    int
        0; 2 where a file cannot answer; 130 if interrupted.
    """
    return _run(_parser().parse_args(argv))


def _run(options: argparse.Namespace) -> int:
    from priors.readers.evidence_text import evidence_text
    from priors.readers.registry import read_file
    from priors.readers.source import expand

    out: Path | None = options.out
    if out is not None:
        _check_out(out, force=options.force)
    said = _options(options)
    problems: list[Problem] = []
    found: list[Found] = []
    for name in expand(options.files):
        try:
            item = read_file(name, said, form=options.form or "", progress=_Progress(name))
            _ = item.observations
        except InputError as error:
            problems += error.problems
            continue
        found.append(item)
        print("\n".join(_report(item)))
    if problems:
        raise InputError(problems)
    if not any(item.drafts for item in found):
        if out is not None:
            raise InputError.single(
                message="no file gave an observation, so there is nothing to write",
                source=str(out),
                remedy="see the reasons above",
            )
        return 0
    if out is None:
        print("No file is written: --out evidence.yaml writes these observations.")
        return 0
    text = evidence_text(found, directory=out.parent)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError.unwritable(error, source=str(out), path="--out") from None
    print(f"Written: {out}. Next: python -m decision.rank --evidence published --evidence {out}")
    return 0


def _check_out(out: Path, *, force: bool) -> None:
    if out.is_dir() or not out.parent.is_dir():
        raise InputError.single(
            message="this is a directory" if out.is_dir() else "there is no such directory",
            source=str(out if out.is_dir() else out.parent),
            path="--out",
        )
    if out.exists() and not force:
        raise InputError.single(
            message="this file exists", source=str(out), path="--out", remedy="--force replaces it"
        )


class _Progress:
    """Says on a terminal how far a large file is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shown = 0

    def __call__(self, done: int, total: int) -> None:
        if not sys.stderr.isatty() or done - self.shown < SHOWN_EVERY:
            return
        self.shown = done
        share = f" of {total >> 20} MiB ({done / total:.0%})" if total else ""
        print(f"\r{self.name}: {done >> 20} MiB{share}", end="", file=sys.stderr)
        if total and done >= total:
            print(file=sys.stderr)


def _report(found: "Found") -> list[str]:
    from priors.observation_words import describe

    lines = [f"{found.source}: {found.format}"]
    for item in found.measures:
        meaning = f"  {item.meaning}" if item.meaning else ""
        unit = "" if item.unit == "1" else f" {item.unit}"
        lines.append(f"  {item.name} = {item.value:.6g}{unit}{meaning}")
    lines += [f"  observation {item.id}: {describe(item)}" for item in found.observations]
    lines += [f"  no observation of {text}" for text in found.withheld]
    lines += [
        f"  left out: {count} {reason}" + (f" (first in line {line})" if line else "")
        for reason, (count, line) in found.skipped.reasons.items()
        if count
    ]
    lines += [f"  note: {text}" for text in found.notes]
    return lines


def _options(options: argparse.Namespace) -> "ReadOptions":
    from dataclasses import replace

    from priors.readers.flop_conventions import CONVENTIONS
    from priors.readers.found import DEFAULT_STATES, options_for
    from priors.readers.slurm_rows import KNOWN_STATES
    from priors.readers.table_columns import NAMES

    states = options.counts_states or sorted(DEFAULT_STATES)
    problems = _unknown("--counts-states", states, sorted(KNOWN_STATES))
    problems += _unknown("--columns", options.columns, list(NAMES))
    if options.flops:
        problems += _unknown("--flops", [options.flops], list(CONVENTIONS))
    if problems:
        raise InputError(problems)
    return replace(
        options_for(options.scenario),
        nic_gbps=options.nic_gbps,
        accelerators_per_node=options.gpus_per_node,
        stack=options.stack or "",
        fleet=options.fleet or "",
        counted_states=frozenset(states),
        event=options.event,
        nodes=options.nodes if isinstance(options.nodes, float) else None,
        fleet_nodes=options.nodes if isinstance(options.nodes, dict) else {},
        own_fleet=options.own_fleet or "",
        since=options.since or "",
        until=options.until or "",
        columns=options.columns,
        date_order=options.dates or "",
        flop_convention=options.flops or "",
    )


def _unknown(option: str, names: Sequence[str], valid: Sequence[str]) -> list[Problem]:
    from model.errors import nearest

    return [
        Problem(source=option, message=f"got {name!r}", remedy=nearest(name, valid))
        for name in names
        if name not in valid
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m priors.read",
        description="Read your own files - nccl-tests, training logs, sacct, failure tables, "
        "goodput exports, also as gz, bz2, xz or zst - and write what they say as evidence.",
        epilog="example: python -m priors.read nccl.txt train.log jobs.txt --scenario mine.yaml "
        "--out evidence.yaml",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="path, glob, or - for standard input")
    add("--as", dest="form", choices=FORMATS, help="the format; default: recognised")
    add("--scenario", metavar="NAME|FILE", help="the job that was measured")
    add("--nic-gbps", type=_positive, metavar="N", help="line rate of an accelerator's card, Gb/s")
    add("--gpus-per-node", type=_whole, metavar="N", help="default: the scenario's")
    add("--stack", metavar="ID", help="software that was measured; default: the scenario's")
    add("--fleet", metavar="ID", help="machines that were measured; default: the scenario's")
    add(
        "--counts-states",
        type=_names,
        metavar="A,B",
        help="Slurm states that are interruptions; default NODE_FAIL,REQUEUED,BOOT_FAIL",
    )
    add(
        "--event",
        choices=("job_interruption", "node_hardware_failure", "gpu_error"),
        help="what a row of a failure table is",
    )
    add(
        "--nodes",
        type=_nodes,
        metavar="N|A=N,B=M",
        help="nodes under observation, of each fleet where a table holds several",
    )
    add("--own-fleet", metavar="A", help="the fleet of such a table that is the scenario's")
    add("--since", metavar="DATE", help="begin of observation")
    add("--until", metavar="DATE", help="end of observation")
    add(
        "--columns",
        type=_pairs,
        default={},
        metavar="node=A,start=B",
        help="columns of a table: node, start, end, duration, cause, fleet, censored, event, "
        "status",
    )
    add("--dates", choices=("dmy", "mdy"), help="how a table writes 03/04/2025")
    add("--flops", metavar="NAME", help="how TFLOP/s were counted where a log has no times")
    add("--out", type=Path, metavar="FILE", help="write the evidence here")
    add("--force", action="store_true", help="replace the file of --out")
    return parser


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        message = f"got {text!r}, a number above 0 is needed"
        raise argparse.ArgumentTypeError(message)
    return value


def _nodes(text: str) -> float | dict[str, float]:
    """One number, or one a fleet."""
    if "=" not in text:
        return _positive(text)
    return {name: _positive(value) for name, value in _pairs(text).items()}


def _whole(text: str) -> int:
    value = _positive(text)
    if not value.is_integer():
        message = f"got {text!r}, a whole number is needed"
        raise argparse.ArgumentTypeError(message)
    return int(value)


def _names(text: str) -> list[str]:
    return [name.strip().upper() for name in text.split(",") if name.strip()]


def _pairs(text: str) -> dict[str, str]:
    pairs = {}
    for part in text.split(","):
        key, sign, name = part.partition("=")
        if not sign or not key.strip() or not name.strip():
            message = f"got {part!r}, what=COLUMN is needed"
            raise argparse.ArgumentTypeError(message)
        pairs[key.strip()] = name.strip()
    return pairs


if __name__ == "__main__":
    sys.exit(main())
