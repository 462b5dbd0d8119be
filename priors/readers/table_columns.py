"""Columns of a failure table: which is which, by their names."""

import re
from collections.abc import Mapping, Sequence

from priors.readers.found import refuse
from priors.readers.source import TextSource
from priors.readers.table_dates import date_of

NAMES: dict[str, tuple[str, ...]] = {
    what: tuple(words.split())
    for what, words in {
        "node": """node nodename nodeid nodenum nodenumz nodenumber nodeaddress host hostname
            hostid machine machineid machinename server servername serverid instance
            instanceid vm vmname location configurationitem affectedci""",
        "start": """start starttime started probstarted problemstarted begin begintime begindate
            failuretime failedat eventstarttime timestamp time date datetime occurred
            eventtime eventdate opened downat startdate startedat startts starttimestamp
            startdatetime detected detectedat detectiontime created createdat createdon
            openedat openedon occurredat occurredon reported reportedat failure
            failuredate failurestart failurets failuretimestamp faultstart faulttime
            incidentstart incidenttime incidentdate interruptedat interruptiontime
            crashtime outagestart outagebegin downtimestart downsince ts""",
        "end": """end endtime ended probfixed problemfixed fixed resolved recovered closed
            repaired upat enddate eventendtime eventstoptime endts endtimestamp
            enddatetime restored endedat resolvedat resolvedon closedat closedon
            recoveredat restoredat restoredon fixedat repairedat finish finished
            finishtime stop stoptime failureend faultend incidentend outageend
            downtimeend upsince""",
        "duration": """duration downtime uptime ttr mttr timetorepair timetoresolve timetorestore
            timetorecover timetorecovery ttf timetofailure tbf timebetweenfailures
            length outage outageduration outagelength downtimeduration incidentduration
            repairduration totaldowntime toresolve torepair torecover torestore
            tofailure""",
        "cause": """cause reason rootcause category failuretype type error fault failurecause
            failurecategory failuremode failurereason eventtype errortype errorcode
            errormessage incidenttype faulttype endreason stopreason exitreason
            terminationreason xid component components subsystem description summary
            issue""",
        "fleet": "fleet cluster system machinetype generation partition",
        "censored": "censored iscensored censor",
        "event": "event observed isfailure failed",
        "status": "status state outcome",
    }.items()
}
"""Names of columns without spaces, units and zones; the first that a table has counts."""

EITHER: tuple[str, ...] = ("recoverytime", "repairtime", "resolutiontime", "restoretime")
EITHER += ("fixtime", "resolvetime", "recovertime")
"""A moment in some tables, a duration in others: the first value tells."""

CATEGORIES = ("facilities", "hardware", "humanerror", "network", "undetermined", "software")
"""Causes that have a column each, of which one holds a text."""

CLOCKS: dict[str, tuple[tuple[str, str], ...]] = {
    "start": (
        ("date", "time"),
        ("startdate", "starttime"),
        ("begindate", "begintime"),
        ("eventdate", "eventtime"),
        ("failuredate", "failuretime"),
        ("incidentdate", "incidenttime"),
    ),
    "end": (("enddate", "endtime"),),
}
"""Columns of a date and of its time of day, where a table keeps them apart."""

ZONE_WORDS = ("utc", "gmt", "local")

UNITS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "m": 60.0, "min": 60.0,
    "mins": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hrs": 3600.0, "hours": 3600.0,
    "hh": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip

TRUE = frozenset({"1", "true", "yes", "y", "censored"})
FALSE = frozenset({"0", "false", "no", "n", "", "uncensored", "observed"})
FLAGS = TRUE | FALSE

CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:[AaPp][Mm])?\Z")


def split_unit(name: str) -> tuple[str, float | None]:
    """A column's name without its unit, and the unit in seconds: ``Down Time (min)``."""
    inside = re.search(r"[(\[]([^)\]]*)[)\]]\s*\Z", name)
    if inside is not None:
        words = re.findall(r"[A-Za-z]+", name[: inside.start()])
        # What is no unit is a zone or the form of a date.
        unit = UNITS.get(inside[1].strip().lower().partition(":")[0])
        return "".join(words).lower(), unit
    words = re.findall(r"[A-Za-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
    if len(words) > 1 and words[-1].lower() in ZONE_WORDS:
        words = words[:-1]
    if len(words) > 1 and words[-1].lower() in UNITS:
        return "".join(words[:-1]).lower(), UNITS[words[-1].lower()]
    if len(words) > 2 and words[0].lower() in UNITS and words[1].lower() == "to":  # noqa: PLR2004
        return "".join(words[1:]).lower(), UNITS[words[0].lower()]
    return "".join(words).lower(), None


def columns_of(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    given: Mapping[str, str],
    source: TextSource,
) -> dict[str, int]:
    """Place of each known column; where a name means two things, rows tell.

    Raises
    ------
    InputError
        If a column that was named is not there, or two could be meant.
    """
    places: dict[str, int] = {}
    plain = [split_unit(name)[0] for name in header]
    for what, name in given.items():
        wanted = name.strip().lower()
        matches = [i for i, own in enumerate(header) if own.strip().lower() == wanted]
        if not matches:
            raise refuse(
                source, 1, f"there is no column {name!r}", "columns are: " + ", ".join(header)
            )
        places[what] = matches[0]
    for what, names in NAMES.items():
        if what in places:
            continue
        for name in names:
            matches = [i for i, own in enumerate(plain) if own == name and i not in places.values()]
            if len(matches) > 1:
                raise refuse(
                    source,
                    1,
                    f"{len(matches)} columns could be the {what}",
                    f"--columns {what}=NAME",
                )
            if matches:
                places[what] = matches[0]
                break
    for place, own in enumerate(plain):
        if own in EITHER and place not in places.values():
            value = next((row[place] for row in rows if row[place].strip()), "")
            places.setdefault("end" if date_of(value, "dmy") is not None else "duration", place)
    event = places.get("event")
    if event is not None and not {row[event].strip().lower() for row in rows} <= FLAGS:
        # A text says what happened, not whether.
        del places["event"]
        places.setdefault("cause", event)
    return places


def clocks_of(
    header: Sequence[str], rows: Sequence[Sequence[str]], given: Mapping[str, str]
) -> dict[str, tuple[int, int]]:
    """Places of a date and its time of day, for a start or an end that is kept in two columns."""
    plain = [split_unit(name)[0] for name in header]
    found = {}
    for what, pairs in CLOCKS.items():
        for day, time in pairs:
            if what in given or not {day, time} <= set(plain):
                continue
            places = plain.index(day), plain.index(time)
            clocks = [row[places[1]].strip() for row in rows if row[places[1]].strip()]
            if clocks and all(CLOCK.match(clock) for clock in clocks):
                found[what] = places
                break
    return found
