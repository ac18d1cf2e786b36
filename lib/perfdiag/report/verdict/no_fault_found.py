"""The verdict of a target without a fault that takes time: asleep, idle, computing, or not to be told."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfdiag.common.text import printable
from perfdiag.common.units import duration, first_of, plural, share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import reasonless_ns
from perfdiag.diagnosis.rule import EvidenceKind, Finding, Mechanism, is_objective
from perfdiag.diagnosis.significance import rowless_ns
from perfdiag.facts.host_facts import Listener
from perfdiag.model.builder import UNLISTED
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import counted
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import ACCOUNTS
from perfdiag.report import contract, database_lock_waits
from perfdiag.report.verdict import clear_of_fault, not_busy, unclaimed_time
from perfdiag.report.verdict.sentences import (
    CLIENTS_LOOK,
    Kind,
    full_thread,
    largest_found,
    next_step,
    reasons,
    requests_not_followed,
    said,
    told,
    unanswered,
    verdict,
)

NO_FAULT = "No fault found: nothing is outside its norm."
IDLE = 0.02  # a target busy for less than this part of the window, without any fault, waits for work
MOST = 0.5  # of the busy time: what takes so much and cannot be told leaves the whole untold
SHOWN = 3
FOR_CLIENTS = ("net.accept", "net.request")
# Whose norm is that of what they wait for; those of CPU time are its own.
_NORMS = frozenset(each.name for each in ACCOUNTS if each.object and not each.name.startswith("cpu."))


def without_time(
    model: Model, diagnosis: Diagnosis, faults: Sequence[Finding], unknown_ns: int, acquit: bool
) -> contract.Verdict:
    """Return the verdict where no fault claims time; `acquit`: nothing else forbids to say that it waits for work."""
    sleep = not_busy.sleep(model)
    slept = [sleep.sentence] if sleep else []
    first = diagnosis.findings[:1]
    claims = [said(finding) for finding in faults[:2]]
    hidden = database_lock_waits.leading(model)
    if hidden and hidden.ns > max(unknown_ns, model.busy_ns):
        return verdict(Kind.CAUSE, [hidden.sentence, hidden.tells, *claims, *slept, _busy(model)], faults[:2])
    if faults:
        missed_only = all(is_objective(finding.id) for finding in faults)  # that tells of no cause
        tells = not_busy.untold_tasks(model) or next_step(model)
        return verdict(Kind.CAUSE, [*claims, *slept, *(tells if missed_only else [])], faults[:2])
    if cannot := requests_not_followed(model, 0) or unanswered(model):
        tells = not_busy.untold_tasks(model) or next_step(model)
        return verdict(Kind.CANNOT_TELL, [cannot, *tells, *slept, _busy(model)], first)
    rowless_ns, rowless = _without_rows(model)
    if rowless_ns > MOST * model.busy_ns:
        return verdict(Kind.CANNOT_TELL, [f"Cannot tell: {rowless}", *slept, _busy(model)], first)
    if unknown_ns > max(model.busy_ns, IDLE * model.window_ns) or model.coverage.unexplained_share > 0.5:
        if full := full_thread(model, first):
            cannot = f"Cannot tell whether the others wait for it: {reasons(model, unknown_ns)}."
            return verdict(Kind.CANNOT_TELL, [told(full), cannot, *next_step(model), *slept], first)
        cannot = f"Cannot tell: {reasons(model, unknown_ns)}, more than all the time that can be explained."
        known = largest_found(first) if model.busy_ns >= not_busy.FELT * unknown_ns else ""
        return verdict(Kind.CANNOT_TELL, [cannot, known, _asked(model), *next_step(model), *slept], first)
    if model.busy_ns <= IDLE * min(model.window_ns, model.wall_ns):
        return _idle(model, sleep, hidden, acquit)
    busiest = [*map(told, first), *_hottest(first)] or [_largest(model)]
    if sleep and sleep.ns > model.busy_ns:
        return verdict(Kind.PROFILE, [sleep.sentence, sleep.advice, *busiest, _busy(model)], first)
    if sleep and any(finding.mechanism is Mechanism.SLEEP for finding in first):
        return verdict(Kind.PROFILE, [*busiest, sleep.advice, _busy(model)], first)
    waits = not_busy.waits(model)
    otherwise = f"Otherwise it waited {waits}." if waits and model.idle_ns > model.busy_ns and not sleep else ""
    unseen = [hidden.sentence, hidden.tells] if hidden else []
    unseen = not_busy.untold_tasks(model) or unseen
    doubts = clear_of_fault.doubts(model)
    nothing = rowless[:1].upper() + rowless[1:] or ("" if doubts else NO_FAULT)
    if waits and not sleep and model.busy_ns < not_busy.FELT * model.window_ns:
        hardly = f"Hardly busy, {duration(model.busy_ns)} in {duration(model.window_ns)}: it waited {waits}."
        return verdict(Kind.PROFILE, [hardly, *doubts, *(unseen or [_senders(model)]), *busiest, nothing], first)
    untold = any(finding.mechanism is Mechanism.UNDETERMINED for finding in first)
    most_time = unclaimed_time.most_time(model, diagnosis, first) if first else ""
    kind = Kind.CANNOT_TELL if untold and first[0].share >= MOST else Kind.PROFILE
    return verdict(kind, [most_time, *busiest, *doubts, "" if untold else nothing, *unseen, *slept, otherwise], first)


def _without_rows(model: Model) -> tuple[int, str]:
    """Return how long was waited for what the recording does not name, which has the norm in it, and that in words."""
    left = {name: rowless_ns(model, name) for name in model.accounts if counted(name) and name in _NORMS}
    left["vm.exit"] = max(left.get("vm.exit", 0), reasonless_ns(model))
    left = {name: ns for name, ns in left.items() if ns}
    ns, names = sum(left.values()), first_of(sorted(left, key=lambda name: -left[name]), SHOWN)
    return ns, f"the recording does not say for what it waited {duration(ns)} ({names})." if left else ""


def _idle(
    model: Model, sleep: not_busy.Sleep | None, hidden: database_lock_waits.Hidden | None, acquit: bool
) -> contract.Verdict:
    """Of a target that is hardly busy: only requests that it has answered acquit it."""
    waits, parked = not_busy.waits(model), not_busy.stuck_or_idle(model)
    work_ns = model.ns(*not_busy.FOR_WORK, "wait.signal")
    asked, busy, doubts = _asked(model), _busy(model), clear_of_fault.doubts(model)
    end = [*doubts, asked, busy]
    number = sum(thread.threads for thread in parked)
    stuck = f"{plural(number, 'thread')}{_of(parked)} stayed parked all the time: an idle pool, or deadlocked."
    if parked and all(map(not_busy.receives, parked)):
        _, calls = not_busy.received(model)
        stuck = f"{plural(number, 'thread')}{_of(parked)} waited in {calls} all the time, for work or for an answer."
    if sleep:
        others_ns = work_ns + model.ns("wait.child")
        others = f"Apart from that sleep it waited {waits}, idle too." if others_ns >= not_busy.FELT * sleep.ns else ""
        also = stuck if parked else ""
        advice = (
            "" if others_ns > 2 * sleep.ns else sleep.advice
        )  # who looks after things, beside those who have none to do
        return verdict(Kind.PROFILE, [sleep.sentence, advice, others, also, *end])
    if parked:
        cannot = f"Cannot tell: {stuck[0].lower()}{stuck[1:]}"
        none = ": no work came to them" if work_ns and not _senders(model) else ""
        also = f"The others waited {waits}{none}."
        return verdict(Kind.CANNOT_TELL, [cannot, also if waits else "", asked, *next_step(model), busy])
    if not work_ns:
        waited = f"It waited {waits}." if waits else "Nothing shows what it waits for."
        return verdict(Kind.PROFILE, ["No fault found, and hardly any work.", waited, *end])
    if scheduler := not_busy.scheduler(model):
        what = "no work came, or they wait for each other or for somebody else"
        none = f"No {scheduler.tasks} of it could run: {what}; no thread shows it."
        return verdict(Kind.PROFILE, [none, f"To tell: {scheduler.tells}.", f"It waited {waits}.", *end])
    if hidden:
        return verdict(
            Kind.CANNOT_TELL,
            [f"Cannot tell: {hidden.sentence}", hidden.tells, f"It waited {waits}.", *end],
        )
    if doubts or clear_of_fault.is_slow(model):
        answered = clear_of_fault.answered(model)
        return verdict(
            Kind.CANNOT_TELL,
            ["Cannot tell whether it is the slow part.", *doubts, answered, f"It waited {waits}.", busy],
        )
    unproven = "" if asked else clear_of_fault.unproven(model)
    came, look = "No work came.", f"It waited {waits}: look at who should send it."
    if _got_work(model):
        came, look = "Little work came.", f"It waited {waits}: look at who sends it."
    if senders := _senders(model):
        came, look = f"It waited {waits}.", senders
    if asked or unproven or not acquit:
        start = "" if acquit else "Otherwise "
        return verdict(Kind.PROFILE, [start + (came[0].lower() + came[1:] if start else came), look, unproven, *end])
    otherwise = f"Otherwise it waited {waits}."
    parts = [
        "This process is not the slow part.",
        clear_of_fault.answered(model),
        *clear_of_fault.unseen(model),
        otherwise,
    ]
    return verdict(Kind.ELSEWHERE, [*parts, CLIENTS_LOOK, *end])


def _got_work(model: Model) -> bool:
    """Return whether waits for clients ended, more than were under way when the recording began."""
    waits = [t.accounts[name].count - t.threads for t in model.threads for name in FOR_CLIENTS if name in t.accounts]
    return any(ended > 0 for ended in waits)


def _asked(model: Model) -> str:
    """Return that nobody asked a target that listens, or that nobody accepts who does; "" where that is not known."""
    listeners = model.facts.listeners
    if not listeners or not listeners.sockets:
        return ""
    if waiting := [each for each in listeners.sockets if each.queued]:
        many = plural(sum(each.queued for each in waiting), "connection")
        return f"At the end {many} waited to be accepted on {_ports(waiting)}."
    if not model.measured("requests") or not_followed(model) or any(each.served for each in model.exchanges):
        return ""
    if clear_of_fault.came_by_datagram(model):
        return ""
    none = "no request came in meanwhile: nothing shows whether it answers"
    return f"It listens on {_ports(listeners.sockets)}, and {none}."


def _ports(sockets: Sequence[Listener]) -> str:
    ports = sorted({each.port for each in sockets})
    return f"port{'' if len(ports) == 1 else 's'} {first_of([str(port) for port in ports], SHOWN)}"


def _senders(model: Model) -> str:
    """Return who may send the events that were waited for, "" where none came or none was waited for."""
    waiting = [t for t in model.threads if t.ns(not_busy.EVENTS)]
    if sum(t.accounts[not_busy.EVENTS].count for t in waiting) <= sum(t.threads for t in waiting):
        return ""
    pid = max(waiting, key=lambda thread: thread.ns(not_busy.EVENTS)).pid
    which = f": ss -tnp | grep pid={pid}" if _has_connections(model) else f": ls -l /proc/{pid}/fd"
    which = which if pid else ""
    return f"Events come from clients, or from whoever it asks in turn{which}."


def _has_connections(model: Model) -> bool:
    """Return whether anything was seen of connections of TCP."""
    objects = [each.line.object for each in model.exchanges] + [row.key for row in model.rows]
    listeners = model.facts.listeners
    return bool(model.sockets or (listeners and listeners.sockets)) or any(
        each.startswith(("port:", "peer:")) for each in objects
    )


def _of(threads: Sequence[ThreadLedger]) -> str:
    """Return by which names threads are known, without the numbers of a pool."""
    alike: dict[str, set[str]] = {}
    for comm in {thread.comm for thread in threads} - {UNLISTED}:
        alike.setdefault(re.sub(r"\d+", "N", comm), set()).add(comm)
    names = sorted(name if len(comms) > 1 else comms.pop() for name, comms in alike.items())
    return f" ({first_of([printable(name) for name in names], SHOWN)})" if names else ""


def _busy(model: Model) -> str:
    return f"It was busy for {duration(model.busy_ns)} of {duration(model.wall_ns)} of thread time."


def _largest(model: Model) -> str:
    largest = next((total for name, total in model.accounts.items() if counted(name)), None)
    if largest is None:
        return "Nothing was busy."
    part = model.share(largest.account)
    how_much = "Most" if part > 0.5 else "The largest part"
    return f"{how_much} of its busy time is {largest.account} ({share(part)})."


def _hottest(findings: Sequence[Finding]) -> list[str]:
    """Return the functions CPU time went to."""
    functions = [each.text for finding in findings for each in finding.evidence if each.kind is EvidenceKind.FUNCTIONS]
    return [f"{text[0].upper()}{text[1:]}." for text in functions[:1]]


__all__ = ["without_time"]
