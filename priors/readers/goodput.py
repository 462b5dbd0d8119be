"""Goodput exports: productive share of a job's time, and where the rest went."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from priors.readers.found import Draft, Found, Measure, ReadOptions, identifier, refuse
from priors.readers.source import TextSource
from priors.readers.text import number_of

PRODUCTIVE: tuple[str, ...] = (
    "total_productive_time",
    "productive_time",
    "goodput_time",
    "goodput_seconds",
)
ELAPSED = ("total_elapsed_time", "total_job_time", "elapsed_time", "job_time")
PRODUCTIVE += ("goodput_time_dict", "total_goodput_time")
DISRUPTIONS = ("number_of_disruptions", "disruption_count", "disruptions")
BADPUT: tuple[str, ...] = (
    "badput_time",
    "badput_breakdown",
    "total_unproductive_time",
    "badput",
    "badput_seconds",
)
BADPUT += ("badput_time_dict", "badput_types")
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
            if error.msg == "Extra data":
                raise refuse(
                    source, error.lineno, "a second record begins here", "one record a file"
                ) from None
            raise refuse(source, error.lineno, f"not whole JSON: {error.msg}") from None
        except RecursionError:
            raise refuse(source, 1, "JSON nested too deeply") from None
        if (series := _series(content, source)) is not None:
            content = series
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


def _series(content: object, source: TextSource) -> dict[str, object] | None:
    """Newest values of a monitoring service's time series as one record; None for no series.

    Raises
    ------
    InputError
        If they are of several jobs.
    """
    items = content.get("timeSeries") if isinstance(content, dict) else content
    found: dict[str, object] = {}
    jobs: set[tuple[str, str]] = set()
    for item in items if isinstance(items, list) else []:
        metric = item.get("metric", item) if isinstance(item, dict) else None
        if not isinstance(metric, dict):
            return None
        name = metric.get("type", metric.get("metric_type"))
        if not isinstance(name, str):
            return None
        labels = _mapping(metric.get("labels", metric.get("metric_labels")))
        resource = _mapping(item.get("resource"))
        own = _mapping(resource.get("labels", item.get("resource_labels")))
        jobs.add((str(own.get("workload_id", "")), str(own.get("replica_id", ""))))
        value = _newest(item)
        kind = next((text for key, text in labels.items() if str(key).endswith("put_source")), None)
        what = name.rpartition("/")[2]
        if kind is None:
            found[what] = value
        else:
            _mapping(found.setdefault(what, {}))[str(kind)] = value
    if len(jobs) > 1:
        raise refuse(
            source,
            1,
            f"series of {len(jobs)} jobs or replicas are in this export",
            "filter by workload_id and replica_id",
        )
    return found or None


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _newest(item: dict[str, object]) -> float | None:
    """A series' value: that of its last moment, since totals only grow."""
    points = item.get("points")
    if not isinstance(points, list):
        return _number(item.get("value"))
    ends = [
        (str(_mapping(point.get("interval")).get("endTime", "")), point.get("value"))
        for point in points
        if isinstance(point, dict)
    ]
    return _number(max(ends, key=lambda pair: pair[0])[1]) if ends else None


def _number(value: object) -> float | None:
    if isinstance(value, dict):
        total = next((part for key, part in value.items() if _is_total(key)), None)
        if total is not None:
            return _number(total)
        parts = [_number(part) for part in value.values()]
        numbers = [part for part in parts if part is not None]
        return sum(numbers) if numbers else None
    if isinstance(value, str):
        value = number_of(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _is_total(key: object) -> bool:
    return str(key).rpartition(".")[2].upper() == "TOTAL"


def _first(entries: dict[str, object], keys: tuple[str, ...]) -> float | None:
    return next((v for key in keys if (v := _number(entries.get(key))) is not None), None)


def _badput(entries: dict[str, object]) -> dict[str, float]:
    """Badput by its type; nested types are summed."""
    source = next((entries[key] for key in BADPUT if isinstance(entries.get(key), dict)), {})
    result = {}
    for key, value in source.items():  # type: ignore[attr-defined]
        number = _number(value)
        if number is not None and not _is_total(key):
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
