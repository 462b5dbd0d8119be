"""Goodput exports: productive share of a job's time, and where the rest went."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from priors.readers.found import Draft, Found, Measure, ReadOptions, identifier, refuse
from priors.readers.source import TextSource
from priors.readers.text import number_of

PRODUCTIVE = ("total_productive_time", "productive_time", "goodput_time", "goodput_seconds")
ELAPSED = ("total_elapsed_time", "total_job_time", "elapsed_time", "job_time")
DISRUPTIONS = ("number_of_disruptions", "disruption_count", "disruptions")
BADPUT = ("badput_time", "badput_breakdown", "total_unproductive_time", "badput", "badput_seconds")
SHARE = ("goodput", "job_goodput", "goodput_percent")

BACKGROUND = frozenset({"DATA_LOADING_ASYNC"})
"""Types that do not stop the job."""

ERROR = 0.02
"""Of a productive share: definitions of goodput differ by that."""

DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Goodput:
    """See the module."""

    name: str = "goodput"
    title: str = "goodput export, JSON"

    def recognise(self, head: list[str]) -> bool:
        """JSON that names badput."""
        text = "\n".join(head)
        return text.lstrip()[:1] in ("{", "[") and "badput" in text.lower()

    def read(self, source: TextSource, options: ReadOptions) -> Found:
        """The effective training time ratio, and disruptions over node-days.

        Raises
        ------
        InputError
            If it is no whole JSON, or has no productive time or share.
        """
        try:
            content = json.loads(source.text())
        except json.JSONDecodeError as error:
            raise refuse(source, error.lineno, f"not whole JSON: {error.msg}") from None
        except RecursionError:
            raise refuse(source, 1, "JSON nested too deeply") from None
        if isinstance(content, list) and len(content) > 1:
            raise refuse(
                source,
                1,
                f"{len(content)} records are in this export, and which one stands for the job is "
                "not said",
                "hand over one record a file",
            )
        entries = {key.lower(): value for key, value in reversed(list(_walk(content)))}
        badput = _badput(entries)
        ratio, elapsed, rule = _ratio(entries, badput, source)
        measures = [Measure(name="goodput", value=ratio, unit="1", meaning=rule)]
        measures += [
            Measure(name=name, value=value, unit="s" if elapsed else "%")
            for name, value in badput.items()
        ]
        drafts, withheld = [], []
        if options.scenario is None:
            withheld.append("ETTR: it is that of a job, and none is named: --scenario")
        elif not 0.0 < ratio <= 1.0:
            raise refuse(source, 1, f"a productive share of {ratio:g} is not inside (0, 1]")
        else:
            raw: dict[str, object] = {
                "id": identifier(source, "ettr"),
                "kind": "ettr",
                **options.place("fleet"),
                "scenario": options.scenario_name,
                "value": round(ratio, 6),
                "error": ERROR,
                "source": f"{source.label}: goodput export",
            }
            drafts.append(Draft(raw=raw, comments=(f"{rule}; error: definitions differ.",)))
        disruptions = _first(entries, DISRUPTIONS)
        if disruptions is not None and disruptions.is_integer() and disruptions >= 0:
            measures.append(Measure(name="disruptions", value=disruptions, unit="1"))
            if elapsed and options.job_nodes:
                drafts.append(_count(source, options, int(disruptions), elapsed))
            else:
                withheld.append("interruptions: total time and nodes are needed: --nodes")
        return Found(
            format=self.name,
            source=source.label,
            drafts=tuple(drafts),
            measures=tuple(measures),
            notes=("badput types are shares of the whole job, start-up included",),
            withheld=tuple(withheld),
        )


def _walk(content: object) -> Iterator[tuple[str, object]]:
    """Every key with its value, outer ones first."""
    waiting = [content]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, dict):
            yield from ((str(key), value) for key, value in item.items())
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _number(value: object) -> float | None:
    if isinstance(value, dict):
        parts = [_number(part) for part in value.values()]
        numbers = [part for part in parts if part is not None]
        return sum(numbers) if numbers else None
    if isinstance(value, str):
        value = number_of(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _first(entries: dict[str, object], keys: tuple[str, ...]) -> float | None:
    return next((v for key in keys if (v := _number(entries.get(key))) is not None), None)


def _badput(entries: dict[str, object]) -> dict[str, float]:
    """Badput by its type; nested types are summed."""
    source = next((entries[key] for key in BADPUT if isinstance(entries.get(key), dict)), {})
    result = {}
    for key, value in source.items():  # type: ignore[attr-defined]
        number = _number(value)
        if number is not None:
            result[str(key).rpartition(".")[2].upper()] = number
    return result


def _ratio(
    entries: dict[str, object], badput: dict[str, float], source: TextSource
) -> tuple[float, float, str]:
    """Productive share, total seconds (0 where unknown), and the rule.

    Raises
    ------
    InputError
        If the file has neither.
    """
    productive, elapsed = _first(entries, PRODUCTIVE), _first(entries, ELAPSED)
    share = _first(entries, SHARE)
    blocking = sum(value for name, value in badput.items() if name not in BACKGROUND)
    if elapsed is not None and elapsed <= 0.0:
        raise refuse(source, 1, f"a total time of {elapsed:g} s")
    if productive is not None and elapsed:
        return productive / elapsed, elapsed, "productive over elapsed time"
    if productive is not None and badput:
        total = productive + blocking
        if total <= 0.0:
            raise refuse(source, 1, "productive time and badput are both zero")
        return productive / total, total, "productive time over itself and all blocking badput"
    if share is not None:
        percent = share / 100.0 if share > 1.0 else share
        return percent, elapsed or 0.0, "goodput as printed"
    if elapsed and badput:
        return 1.0 - blocking / elapsed, elapsed, "one less all blocking badput over elapsed time"
    raise refuse(source, 1, "neither a productive time nor a goodput is in this export")


def _count(source: TextSource, options: ReadOptions, events: int, elapsed: float) -> Draft:
    nodes = options.job_nodes or 0.0
    raw: dict[str, object] = {
        "id": identifier(source, "interruptions"),
        "kind": "interruptions",
        **options.place("fleet"),
        "counts": "job_interruption",
        "events": events,
        "node_days": float(f"{nodes * elapsed / DAY_S:.6g}"),
        "source": f"{source.label}: goodput export",
    }
    return Draft(raw=raw, comments=(f"Disruptions over {nodes:g} nodes of the scenario's job.",))
