"""The facts about a target without a fault that takes time, from which its verdict is chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from perfdiag.common.text import printable
from perfdiag.common.units import duration, first_of, plural, share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import reasonless_ns
from perfdiag.diagnosis.rule import EvidenceKind, Finding
from perfdiag.diagnosis.significance import rowless_ns
from perfdiag.facts.host_facts import Listener
from perfdiag.model.builder import UNLISTED
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import counted
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import ACCOUNTS, phrase_of
from perfdiag.report.verdict import clear_of_fault, not_busy
from perfdiag.report.verdict.computing import computes
from perfdiag.report.verdict.sentences import full_thread, perhaps_locks, requests_not_followed, told, unanswered

SHOWN = 3
FOR_CLIENTS = ("net.accept", "net.request")
# Whose norm is that of what they wait for; those of CPU time are its own.
_NORMS = frozenset(each.name for each in ACCOUNTS if each.object and not each.name.startswith("cpu."))


@dataclass(frozen=True)
class Situation:
    """A target without a fault that takes time; its properties are computed once."""

    model: Model
    diagnosis: Diagnosis
    faults: Sequence[Finding]  # that take no time
    unknown_ns: int
    acquit: bool  # nothing else forbids to say that it waits for work

    @property
    def first(self) -> Sequence[Finding]:
        """The largest finding that takes time, if there is any."""
        return [finding for finding in self.diagnosis.findings if finding.claimed_ns][:1]

    @cached_property
    def sleep(self) -> not_busy.Sleep | None:
        """Who sleeps on a timer; if requests are answered, only a thread that talks can delay them."""
        return not_busy.sleep(self.model, beside_faults=any(each.served for each in self.model.exchanges))

    @property
    def slept(self) -> list[str]:
        """The sentence on that sleep, if there is one."""
        return [self.sleep.sentence] if self.sleep else []

    @cached_property
    def hidden(self) -> list[str]:
        """The sentence on a database that may wait for locks while it looks idle."""
        return perhaps_locks(self.diagnosis)

    @cached_property
    def full(self) -> Finding | None:
        """The finding of a thread that runs all the time."""
        return full_thread(self.model, self.first)

    @cached_property
    def not_followed(self) -> str:
        """The sentence on requests that are slow or have no answer for unknown reasons, or ""."""
        return requests_not_followed(self.model, 0) or unanswered(self.model)

    @cached_property
    def without_rows(self) -> tuple[int, str]:
        """How long the target waited for things that the recording does not name, and the sentence on it."""
        return _without_rows(self.model)

    @cached_property
    def waits(self) -> str:
        """What it waited for while idle."""
        return not_busy.waits(self.model)

    @cached_property
    def doubts(self) -> list[str]:
        """Who may wait for its answer."""
        return clear_of_fault.doubts(self.model)

    @cached_property
    def parked(self) -> list[ThreadLedger]:
        """Threads that may be stuck."""
        return not_busy.stuck_or_idle(self.model)

    @property
    def work_ns(self) -> int:
        """How long it waited for work."""
        return self.model.ns(*not_busy.FOR_WORK, "wait.signal")

    @cached_property
    def asked(self) -> str:
        """The sentence on a listening target that received no request, or on connections it does not accept."""
        return _asked(self.model)

    @cached_property
    def unproven(self) -> str:
        """Why nothing shows that it answers."""
        return "" if self.asked else clear_of_fault.unproven(self.model)

    @property
    def busy(self) -> str:
        """For how long it was busy, as a sentence."""
        return f"It was busy for {duration(self.model.busy_ns)} of {duration(self.model.wall_ns)} of thread time."

    @property
    def end(self) -> list[str]:
        """The last sentences of a verdict on an idle target."""
        return [*self.doubts, self.asked, self.busy]

    @cached_property
    def busiest(self) -> list[str]:
        """What most of the busy time is."""
        if computing := computes(self.model, self.first):
            return [computing]
        return [*map(told, self.first), *_hottest(self.first)] or [_largest(self.model)]

    @cached_property
    def senders(self) -> str:
        """Who may send the events that were waited for."""
        return _senders(self.model)

    @property
    def got_work(self) -> bool:
        """Whether waits for clients ended."""
        return _got_work(self.model)

    @property
    def stuck(self) -> str:
        """The sentence on threads that were blocked all the time."""
        threads = f"{plural(sum(thread.threads for thread in self.parked), 'thread')}{_of(self.parked)}"
        if self.parked and all(map(not_busy.receives, self.parked)):
            _, calls = not_busy.received(self.model)
            return f"{threads} waited in {calls} all the time, for work or for an answer."
        return f"{threads} stayed blocked or idle all the time: an idle pool, or deadlocked."


def _without_rows(model: Model) -> tuple[int, str]:
    """Return how long the target waited for things that the recording does not name, which the rules would need, and
    the sentence on it."""
    left = {name: rowless_ns(model, name) for name in model.accounts if counted(name) and name in _NORMS}
    left["vm.exit"] = max(left.get("vm.exit", 0), reasonless_ns(model))
    left = {name: ns for name, ns in left.items() if ns}
    ns, names = sum(left.values()), first_of(sorted(left, key=lambda name: -left[name]), SHOWN)
    return ns, f"the recording does not show what it waited {duration(ns)} for ({names})." if left else ""


def _got_work(model: Model) -> bool:
    """Return whether waits for clients ended, more than were under way when the recording began."""
    waits = [t.accounts[name].count - t.threads for t in model.threads for name in FOR_CLIENTS if name in t.accounts]
    return any(ended > 0 for ended in waits)


def _asked(model: Model) -> str:
    """Return that a listening target received no request, or that connections are not accepted; "" if that is
    unknown."""
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
    """Return who may send the events that were waited for, "" if none came or none was waited for."""
    waiting = [t for t in model.threads if t.ns(not_busy.EVENTS)]
    if sum(t.accounts[not_busy.EVENTS].count for t in waiting) <= sum(t.threads for t in waiting):
        return ""
    pid = max(waiting, key=lambda thread: thread.ns(not_busy.EVENTS)).pid
    which = f": ss -tnp | grep pid={pid}" if _has_connections(model) else f": ls -l /proc/{pid}/fd"
    which = which if pid else ""
    return f"Events come from clients, or from processes that it calls itself{which}."


def _has_connections(model: Model) -> bool:
    """Return whether anything was seen of connections of TCP."""
    objects = [each.line.object for each in model.exchanges] + [row.key for row in model.rows]
    listeners = model.facts.listeners
    return bool(model.sockets or (listeners and listeners.sockets)) or any(
        each.startswith(("port:", "peer:")) for each in objects
    )


def _of(threads: Sequence[ThreadLedger]) -> str:
    """Return the names of threads, without the numbers of a pool."""
    alike: dict[str, set[str]] = {}
    for comm in {thread.comm for thread in threads} - {UNLISTED}:
        alike.setdefault(re.sub(r"\d+", "N", comm), set()).add(comm)
    names = sorted(name if len(comms) > 1 else comms.pop() for name, comms in alike.items())
    return f" ({first_of([printable(name) for name in names], SHOWN)})" if names else ""


def _largest(model: Model) -> str:
    largest = next((total for name, total in model.accounts.items() if counted(name)), None)
    if largest is None:
        return "Nothing was busy."
    part = model.share(largest.account)
    how_much = "Most" if part > 0.5 else "The largest part"
    return f"{how_much} of its busy time: {phrase_of(largest.account)} ({largest.account} {share(part)})."


def _hottest(findings: Sequence[Finding]) -> list[str]:
    """Return the functions CPU time went to."""
    functions = [each.text for finding in findings for each in finding.evidence if each.kind is EvidenceKind.FUNCTIONS]
    return [f"{text[0].upper()}{text[1:]}." for text in functions[:1]]


__all__ = ["Situation"]
