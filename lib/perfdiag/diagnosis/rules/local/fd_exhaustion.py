"""FD-EXHAUSTION: file descriptors run out."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from perfdiag.common.text import named
from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.local.refused_descriptors import (
    EMFILE,
    ENFILE,
    readers_without_any,
    refusals,
    words_of,
)
from perfdiag.diagnosis.evidence.requests.unread_time import not_accepted_ns
from perfdiag.diagnosis.evidence.target import sysctl
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import local_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import attempt, brief, duration, fix, percent
from perfdiag.facts.host_facts import Descriptors
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED
from perfdiag.recording import schema

_UNSEEN = "refusals are seen only with --slo"
_OTHERS = "a call with another limit that fails with the same error: inotify_init() at fs.inotify.max_user_instances"


@rule(
    "FD-EXHAUSTION",
    title="File descriptors run out",
    accounts=(QUEUED,),
    meaning="The kernel refused a descriptor (EMFILE: the limit of the process; ENFILE: the limit of the system),"
    " or the number in use grows and is near its limit. Then open(), accept() and socket() fail.",
    measured="Refused descriptors (only with --slo, when system calls are traced), entries of /proc/PID/fd against"
    " the soft limit in /proc/PID/limits as a series over the window, and /proc/sys/fs/file-nr for the"
    " system.",
    alternatives="A leak, which a higher limit only delays; a burst of connections; the files are really needed.",
    remedies="Close descriptors that are not needed; raise the limit.",
    verify="ls /proc/PID/fd | wc -l stays far below the limit.",
    one_process=True,
)
def exhaustion(model: Model) -> Iterable[Outcome]:
    """Judge each process and the system by refusals, use and growth."""
    known = [each for each in model.facts.descriptors.values() if each.part is not None]
    system = model.facts.system_descriptors
    refused = refusals(model)
    counted = [*known, *([system] if system and system.part is not None else [])]
    times = Counter(pid for event in refused for pid in _whose_limit(event))
    worst_first = sorted(counted, key=lambda each: (times[each.pid] > 0, each.part or 0.0), reverse=True)
    found = [finding for each in worst_first if (finding := _finding(model, each, times[each.pid]))]
    # Of a process that came and went between two counts its refusals are all there is.
    pids = {each.pid for each in counted}
    rest = [event for event in refused if pids.isdisjoint(_whose_limit(event))]
    yield from [*found, *([_refused_finding(model, rest)] if rest else [])]
    if found or rest:
        return
    if not known:
        reason = model.facts.reason("descriptors") or "the target's descriptors were not counted"
        yield Silence("FD-EXHAUSTION", reason, "run as root, so that /proc/PID/fd can be read")
        return
    worst = max(known, key=lambda each: each.part or 0.0)
    part = worst.part or 0.0
    used = f"{worst.latest:,} of {_limit(worst)} ({percent(part)})"
    # Between two counts, and above all before an end, there may have been more.
    unseen = "" if model.measured("operations") else f" when last counted; {_UNSEEN}"
    yield Check(
        "FD-EXHAUSTION", f"descriptors {used}{unseen}", part, "share", large=part >= local_policy.descriptors_near_share
    )


def _whose_limit(event: schema.Event) -> set[int]:
    """Return the process whose limit a refusal was due to, 0 for the system's; both are possible."""
    words = words_of(event)
    return {pid for pid, word in ((0, ENFILE), (event.pid, EMFILE)) if word in words}


def _limit(descriptors: Descriptors) -> str:
    limit = descriptors.soft_limit or math.inf
    return "unlimited" if math.isinf(limit) else f"{limit:,.0f}"


def _seconds_left(descriptors: Descriptors) -> float | None:
    """Return when the limit is reached at the present growth; None if nothing grows."""
    growth, latest, limit = descriptors.growth_per_second, descriptors.latest, descriptors.soft_limit
    if not growth or growth <= 0 or latest is None or not limit or math.isinf(limit):
        return None
    return max(0.0, (limit - latest) / growth)


def _finding(model: Model, descriptors: Descriptors, refused: int) -> Finding | None:
    part, left = descriptors.part or 0.0, _seconds_left(descriptors)
    growing = left is not None and left <= local_policy.descriptors_soon_s
    if not refused and part < local_policy.descriptors_near_share:
        return None
    full = refused or part >= local_policy.descriptors_full_share
    severity = Severity.CRITICAL if full else Severity.WARNING if growing else Severity.INFO
    who = _name(model, descriptors.pid)
    # Who gets no descriptor accepts nobody, and seems idle.
    unread_ns = not_accepted_ns(model) if refused or descriptors.pid in readers_without_any(model) else 0
    growth = descriptors.growth_per_second
    evidence = [
        Evidence(
            f"{descriptors.latest:,} of {_limit(descriptors)} descriptors open ({percent(part)})",
            part,
            "share",
            "/proc/PID/fd" if descriptors.pid else "/proc/sys/fs/file-nr",
        )
    ]
    if growth is not None:
        evidence.append(Evidence(f"{growth * 60:+,.0f} descriptors a minute", growth * 60, "count/min", "facts"))
    if refused:
        evidence.append(_refusals(refused))
    return conclude(
        model,
        {QUEUED: unread_ns} if unread_ns else {},
        headline=_headline(who, refused=bool(refused), full=part >= 1, accepts=not unread_ns),
        claim=f"{who} {_use(descriptors, refused, left if growing else None)}.",
        mechanism=Mechanism.LIMIT,
        severity=severity,
        doubts=[
            "" if growth is not None else "counted only once: growth is unknown",
            _UNSEEN if unread_ns and not refused else "",
        ],
        evidence=evidence,
        remedies=_remedies(model, descriptors),
        alternatives=[
            "a leak, which a higher limit only delays",
            "a short burst",
            *([_OTHERS] if refused else []),
        ],
        verify=_check(descriptors),
    )


def _use(descriptors: Descriptors, refused: int, left_s: float | None) -> str:
    """Return how many descriptors are open, how often more were refused, and in how long there are none left."""
    part = descriptors.part or 0.0
    if refused and part < local_policy.descriptors_near_share:
        use = f"was refused a descriptor {_times(refused)}, though it had only"
        use += f" {descriptors.latest:,} of {_limit(descriptors)} open when they were last counted"
    else:
        use = f"has {descriptors.latest:,} of {_limit(descriptors)} descriptors open"
        use += f", and was refused more {_times(refused)}" if refused else ""
    if part >= 1:
        return f"{use}: it is at its limit"
    if left_s is None:
        return use
    return f"{use}{',' if refused else ' and'} reaches the limit in {duration(left_s * 1e9)} at the present growth"


def _times(number: int) -> str:
    """Return how often, as a lower bound: at most one refusal a second and thread is recorded."""
    return f"at least {plural(number, 'time')}"


def _refusals(number: int) -> Evidence:
    text = f"{plural(number, 'refusal')} in the window (at most one a second and thread is counted)"
    return Evidence(text, float(number), "count", "events")


def _headline(who: str, *, refused: bool, full: bool, accepts: bool) -> str:
    if refused:
        return f"{brief(who)} was refused file descriptors: a limit is reached"
    what = f"{brief(who)} {'is at its limit' if full else 'nears its limit'} of open file descriptors"
    return what if accepts else f"{what} and accepts no more connections"


def _check(descriptors: Descriptors) -> str:
    success = f"stays far below the limit, now {descriptors.latest:,} of {_limit(descriptors)}"
    if descriptors.pid:
        return checked(f"ls /proc/{descriptors.pid}/fd | wc -l", success)
    return checked("cat /proc/sys/fs/file-nr", f"the first number {success}")


def _refused_finding(model: Model, refused: Sequence[schema.Event]) -> Finding:
    """Return the finding if only the refusals are known."""
    comms = {thread.pid: thread.comm for thread in model.threads}
    pids = sorted({event.pid for event in refused})
    names = [named(comms[pid], pid) if pid in comms else f"process {pid}" for pid in pids]
    return conclude(
        model,
        {},
        headline="The kernel refused descriptors to the target: a limit is reached",
        claim=f"The kernel refused a descriptor {_times(len(refused))}: {first_of(names, 3)}.",
        mechanism=Mechanism.LIMIT,
        severity=Severity.CRITICAL,
        doubts=["it is unknown how many descriptors are in use"],
        evidence=[_refusals(len(refused))],
        remedies=[fix("raise LimitNOFILE (or ulimit -n) of the target, or find the leak: ls -l /proc/PID/fd")],
        alternatives=["a leak", _OTHERS],
        verify=checked(
            f"ls /proc/{pids[0]}/fd | wc -l; grep 'open files' /proc/{pids[0]}/limits",
            "the number is far below the limit",
        ),
    )


def _name(model: Model, pid: int) -> str:
    if not pid:
        return "The whole system"
    process = model.facts.processes.get(pid)
    return named(process.comm, pid) if process else f"Process {pid}"


def _remedies(model: Model, descriptors: Descriptors) -> list[Remedy]:
    if any(thread.exited and thread.tid == descriptors.pid for thread in model.threads_of(descriptors.pid)):
        return [
            fix(
                "the process has ended: raise its limit where it is started (LimitNOFILE, ulimit -n), or find its"
                " leak there"
            )
        ]
    find = fix(f"find out what is left open: ls -l /proc/{descriptors.pid or 'PID'}/fd | sort -k 11 | uniq -cf 10")
    soft, hard, pid = descriptors.soft_limit, descriptors.hard_limit, descriptors.pid
    if not pid:
        return [sysctl("fs.file-max", round((soft or 0) * 2), f"{soft or 0:.0f}"), find]
    if not soft or not hard or math.isinf(soft):
        return [find]
    most = "unlimited" if math.isinf(hard) else f"{max(hard, soft * 2):.0f}"
    present = "unlimited" if math.isinf(hard) else f"{hard:.0f}"
    return [
        attempt(
            f"prlimit --pid {pid} --nofile={soft * 2:.0f}:{most}",
            f"prlimit --pid {pid} --nofile={soft:.0f}:{present}",
            f"soft limit {soft:.0f}, hard limit {present} (a program that uses select() fails above 1024)",
        ),
        find,
    ]
