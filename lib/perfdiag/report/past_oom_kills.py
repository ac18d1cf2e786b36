"""Explain past OOM kills from a kernel log and the counters of control groups alone: the victims are gone."""

import os
from collections import Counter
from collections.abc import Sequence

from perfdiag import __version__
from perfdiag.common.text import NO_NAME, printable
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.memory.oom_causes import Cause, group_holdings, holdings
from perfdiag.diagnosis.evidence.memory.oom_explanation import Explained, explain
from perfdiag.diagnosis.evidence.memory.oom_victims import largest, table_of
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.kernel_log_clock import Clocks, Moment
from perfdiag.facts.oom.oom_report import Report
from perfdiag.facts.oom.parser import MOST_NUMBERS, MOST_REPORTS, MOST_TASKS, MOST_VICTIMS, Told
from perfdiag.facts.oom_counters import Counts
from perfdiag.facts.oom_log import Log
from perfdiag.report.contract.past_oom_kills import SCHEMA, Group, Kill, Missing, PastKills, Process

ID = "OOM-KILL"
TASKS = 10
_NAMED = 3  # victims in the verdict
JOURNAL = "journalctl -k -o short-precise --since TIME > FILE, then --log FILE"


def look_back(log: Log, counts: Counts | None, clocks: Clocks, since_ns: int, until_ns: int) -> PastKills:
    """Explain the OOM kills of a log between two times of day; kills of unknown time are included."""
    reports, suspended = log.told.reports, log.last_suspend_ns
    kills, outside = [], 0
    tables: dict[tuple[bool, str | None], Report] = {}  # the last report with a table of tasks, by whose these are
    for report in reports:
        earlier = [tables[table_of(report)]] if table_of(report) in tables else []
        if report.tasks:
            tables[table_of(report)] = report
        moment = _moment(log, clocks, suspended, report.realtime_ns, report.at_ns)
        if moment and not (since_ns <= moment.realtime_ns and moment.realtime_ns - moment.early_ns <= until_ns):
            outside += 1
            continue
        explained = explain(report, earlier)
        kills.append(_kill(explained, moment.realtime_ns if moment else None, moment.early_ns if moment else 0))
    first = log.first
    begins = _moment(log, clocks, suspended, first.realtime_ns, first.clock_ns) if first else None
    in_log = sum(report.kills for report in reports) + log.told.kills_left_out
    counted = counts.host if counts else None
    missing = [
        *_of_begin(log, begins, since_ns, clocks),
        *_of_bounds(log.told),
        *_of_times(log, reports),
        *_of_counts(counts, in_log),
    ]
    return PastKills(
        schema=SCHEMA,
        perfdiag=__version__,
        host=printable(os.uname().nodename) if log.own else "",
        source=log.source,
        since_ns=since_ns,
        until_ns=until_ns,
        log_begins_ns=begins.realtime_ns if begins else None,
        kills=kills,
        outside=outside,
        counted=counted,
        in_log=in_log,
        groups=None
        if counts is None or counts.groups is None
        else [Group(path=printable(each.path), kills=each.kills) for each in counts.groups],
        not_measured=missing,
        verdict=_verdict(kills, log, missing),
    )


def _kill(explained: Explained, realtime_ns: int | None, early_ns: int) -> Kill:
    """Return an explanation as it is written down."""
    report = explained.report
    held = group_holdings(report.group) if report.of_group and report.group else []
    if not report.of_group and report.host:
        held = holdings(report.host)
    asked = report.begin
    return Kill(
        id=ID,
        severity=Severity.CRITICAL.value,
        realtime_ns=realtime_ns,
        early_ns=early_ns,
        clock_ns=report.at_ns,
        cause=explained.cause.value,
        confidence=explained.confidence.value,
        claim=explained.claim,
        asker=Process(pid=report.asker_pid, comm=printable(report.asker)) if asked else None,
        order=report.order,
        gfp=printable(report.gfp),
        constraint=report.constraint,
        nodes=printable(report.nodes),
        group=printable(report.group.path) if report.group else "",
        limit_bytes=report.group.limit_bytes if report.group else None,
        victims=[
            Process(
                pid=victim.pid,
                comm=printable(victim.comm),
                resident_bytes=victim.resident_bytes,
                oom_score_adj=victim.oom_score_adj,
            )
            for victim in report.victims
        ],
        memory={each.holder.name.lower(): each.bytes for each in held},
        tasks=[
            Process(
                pid=task.pid,
                comm=printable(task.name),
                resident_bytes=task.resident_bytes,
                oom_score_adj=task.oom_score_adj,
            )
            for task in largest(report, TASKS)
        ],
        evidence=list(explained.evidence),
        ruled_out=list(explained.ruled_out),
        alternatives=list(explained.alternatives),
        limits=list(explained.limits),
        remedies=list(explained.remedies),
        verify=explained.verify,
    )


def _moment(
    log: Log, clocks: Clocks, suspended: int | None, realtime_ns: int | None, clock_ns: int | None
) -> Moment | None:
    if realtime_ns is not None:
        return Moment(realtime_ns)
    if not log.own or clock_ns is None:
        return None
    return clocks.moment(clock_ns, suspended)


def _verdict(kills: Sequence[Kill], log: Log, missing: Sequence[Missing]) -> str:
    """Return the sum in a sentence; the OOM killer may have run without a victim, or without one in the log."""
    if log.first is None:
        return f"Cannot tell: {log.source} has no line of a kernel log."
    if not kills:
        known = "" if not missing else ", as far as the log shows"
        return f"No process was killed for lack of memory{known}."
    done, idle = ([kill for kill in kills if bool(kill.victims) == ended] for ended in (True, False))
    without = f"{plural(len(idle), 'run')} of the OOM killer without a victim in the log"
    if not done:
        return f"No OOM kill, but {without}{_by_cause(idle)}."
    return f"{plural(len(done), 'OOM kill')}{f', and {without}' if idle else ''}{_by_cause(done)}. {_victims(done)}"


def _by_cause(kills: Sequence[Kill]) -> str:
    numbers = Counter(kill.cause for kill in kills)  # in the order in which they come
    if len(numbers) > 1:
        return f": {', '.join(f'{number} {cause}' for cause, number in numbers.items())}"
    groups, cause = {kill.group for kill in kills}, kills[0].cause
    where = f" of {kills[0].group}" if len(groups) == 1 and cause == Cause.CGROUP.value and kills[0].group else ""
    return f". Cause: {cause}{where}"


def _victims(kills: Sequence[Kill]) -> str:
    """Return "Ended: devour (pid 7), web (pid 8) and 3 more."."""
    victims = [victim for kill in kills for victim in kill.victims]
    names = ", ".join(f"{victim.comm or NO_NAME} (pid {victim.pid})" for victim in victims[:_NAMED])
    more = f" and {len(victims) - _NAMED} more" if len(victims) > _NAMED else ""
    return f"Ended: {names}{more}."


def _of_bounds(told: Told) -> list[Missing]:
    """Report what exceeded a limit and was left out."""
    fix = "give a part of the log: journalctl -k --since TIME --until TIME > FILE, then --log FILE"
    left_out = {
        "the oldest {} of the OOM killer": (told.reports_left_out, "report", MOST_REPORTS, "reports"),
        "{} of tables of tasks": (told.tasks_left_out, "row", MOST_TASKS, "such rows"),
        "{} that the log names": (told.victims_left_out, "victim", MOST_VICTIMS, "victims"),
        "{} on memory of hosts and groups": (told.lines_left_out, "line", MOST_NUMBERS, "numbers of such memory"),
    }
    return [
        _missing(what.format(plural(number, one)), f"the log has more than {most:,} {many}", fix)
        for what, (number, one, most, many) in left_out.items()
        if number
    ]


def _of_begin(log: Log, begins: Moment | None, since_ns: int, clocks: Clocks) -> list[Missing]:
    """What lies before the first line."""
    found = []
    if log.overwritten:
        found.append(_missing("some lines", "they were overwritten while the log was read", "ask again"))
    begins_ns = clocks.boot_realtime_ns if log.from_boot else begins.realtime_ns - begins.early_ns if begins else None
    if begins_ns is None or begins_ns <= since_ns:
        return found
    if log.from_boot:
        what, reason = "kills before the last boot", "the kernel's log begins at the boot, after --since"
        return [*found, _missing(what, reason, "journalctl -k -b -1 > FILE, then --log FILE")]
    reason = "older lines of the kernel's buffer were overwritten" if log.own else "the log begins later than --since"
    return [*found, _missing("kills before the log begins", reason, JOURNAL)]


def _of_times(log: Log, reports: Sequence[Report]) -> list[Missing]:
    if log.own or all(report.realtime_ns is not None for report in reports):
        return []
    reason = "the lines of this log count from the boot of their host: --since and --until leave none of them out"
    return [_missing("the time of day of kills", reason, "save the log with dates: journalctl -k, or dmesg -T there")]


def _of_counts(counts: Counts | None, in_log: int) -> list[Missing]:
    if counts is None:
        return []
    found = []
    if counts.host is not None and counts.host > in_log:
        number = counts.host - in_log
        what = f"{plural(number, 'kill')} of the {counts.host:,} that the kernel counts since boot"
        found.append(_missing(what, "the log has no line about them", JOURNAL))
    if counts.groups is None:
        found.append(
            _missing(
                "kills by control group", "no memory controller's counters can be read", "mount the control groups"
            )
        )
    elif not counts.complete:
        found.append(
            _missing("kills in some control groups", "there are too many to read", "grep -r oom_kill /sys/fs/cgroup")
        )
    return found


def _missing(what: str, reason: str, fix: str) -> Missing:
    return Missing(what=what, reason=reason, fix=fix)
