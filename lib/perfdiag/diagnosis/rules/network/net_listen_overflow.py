"""NET-LISTEN-OVERFLOW: connections are dropped because the accept queue of a listening socket is full."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.local.refused_descriptors import are_refused
from perfdiag.diagnosis.evidence.requests.unread_time import find_limit, not_accepted_ns
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, network_policy
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
from perfdiag.diagnosis.significance import attempt, brief, duration, fix, percent, plain
from perfdiag.facts.listeners import Listener, Listeners
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import busy_ns_of
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import PARKED

ID = "NET-LISTEN-OVERFLOW"
OVERFLOWS, DROPS, OPENED = "TcpExt.ListenOverflows", "TcpExt.ListenDrops", "Tcp.PassiveOpens"
_NO_USE = "more workers or a longer queue do not help"
_FASTER = fix(
    "accept faster: more workers or processes on the port, or a thread that only accepts; other findings say what its"
    " threads wait for instead"
)
LOOK = "ss -ltn (Recv-Q against Send-Q); nstat -az TcpExtListenOverflows TcpExtListenDrops"


@dataclass(frozen=True)
class _Overflow:
    """Connections dropped at the target's listening sockets."""

    sockets: Sequence[Listener]  # at which something was dropped, most first
    least: int  # of what was dropped there: so many at least because a queue was full
    dropped: int
    opened: int | None  # connections taken in by the same network namespaces
    acceptor: ThreadLedger | None  # of those who hold the sockets: the one that waited longest for connections

    @property
    def share(self) -> float:
        """Return the least part of all connection attempts that was dropped; 1 if the others are unknown."""
        return self.least / (self.least + (self.opened or 0))

    @property
    def where(self) -> str:
        """Return the names of the sockets."""
        return first_of([f"{plain(each.address)}:{each.port}" for each in self.sockets], 3)


@rule(
    ID,
    title="Connections are dropped because an accept queue is full",
    accounts=(),
    meaning="A complete connection waits in the accept queue of its listening socket. If the queue is full, the"
    " kernel drops new ones, and clients ask again after 1, 3 and 7 seconds; the target itself loses no"
    " time. Either it accepts too slowly, or more connections arrive at once than the queue holds.",
    measured="Connections dropped at each listening socket of the target (sock_diag), with ListenOverflows and"
    " ListenDrops of its network namespace, less the drops of other processes' sockets: a lower bound."
    " Queue and limit are those at the end.",
    alternatives="A SYN flood; health checks or a scanner that open many connections at once; a program that is"
    " stopped or waits for something else, and accepts nothing.",
    remedies="Accept faster: more workers, or one thread that only accepts. Against bursts, a longer queue: the"
    " backlog the program asks for, up to net.core.somaxconn. If its threads are idle, neither helps: a limit of"
    " connections or open files keeps them from accepting.",
    verify="Under the same load Recv-Q stays below Send-Q in ss -ltn, and nstat -az TcpExtListenOverflows does not"
    " grow.",
    one_process=True,
)
def listen_overflow(model: Model) -> Iterable[Outcome]:
    """Join drops by listening socket with the overflows of the target's network namespaces."""
    overflows, opened = model.facts.network_delta(OVERFLOWS), model.facts.network_delta(OPENED)
    if overflows is None:
        if "net.accept" in model.accounts:
            reason = model.facts.reason("network_deltas") or f"{OVERFLOWS} is unknown"
            yield Silence(ID, f"it is unknown whether accept queues were full: {reason}", LOOK)
        return
    if not overflows:
        if opened:
            yield Check(
                ID, f"no accept queue was full, {plural(opened, 'connection')} accepted by the kernel", 0.0, "count"
            )
        return
    listeners = model.facts.listeners
    unsaid = _unsaid(model, listeners)
    mine = [each for each in listeners.sockets if each.dropped] if listeners else []
    if not mine:
        if unsaid:
            yield Silence(
                ID, f"accept queues were full {plural(overflows, 'time')}, but it is unknown whose: {unsaid}", LOOK
            )
        else:
            yield Check(ID, f"full accept queues {plural(overflows, 'time')}, none of {subject(model)}", 0.0, "count")
        return
    found = _overflow(model, mine, overflows)
    if found.least:
        yield _finding(model, found, listeners, unsaid)
        return
    reason = (
        f"{plural(found.dropped, 'connection')} dropped at {found.where}, but it is unknown whether the queue was full"
    )
    yield Silence(ID, reason, LOOK)


def _unsaid(model: Model, listeners: Listeners | None) -> str:
    """Return why the target may have more sockets than are known, or ""."""
    if listeners is None:
        return model.facts.reason("listeners") or "its sockets were not read"
    if not listeners.complete:
        return "the sockets of some of its processes could not be read"
    if any(each.dropped is None for each in listeners.sockets):
        return "earlier drops of its sockets are unknown"
    return ""


def _overflow(model: Model, mine: list[Listener], overflows: int) -> _Overflow:
    dropped = sum(each.dropped or 0 for each in mine)
    everywhere = model.facts.network_delta(DROPS)
    elsewhere = max(0, everywhere - dropped) if everywhere is not None else overflows
    holders = {pid for each in mine for pid in each.pids}
    waiting = [thread for thread in model.threads if thread.pid in holders and "net.accept" in thread.accounts]
    return _Overflow(
        sockets=sorted(mine, key=lambda each: -(each.dropped or 0)),
        least=max(0, min(dropped, overflows - elsewhere)),
        dropped=dropped,
        opened=model.facts.network_delta(OPENED),
        acceptor=max(waiting, key=lambda thread: thread.ns("net.accept"), default=None),
    )


def _finding(model: Model, found: _Overflow, listeners: Listeners | None, unsaid: str) -> Finding:
    first, acceptor = found.sockets[0], found.acceptor
    why = f"{subject(model)} does not accept them in time, and its queue holds {first.limit:,}"
    remedies, though = [_FASTER, _longer(first, listeners)], ""
    accepts = acceptor is not None and acceptor.ns("net.accept") >= network_policy.accepting_share * model.window_ns
    idle = bool(not_accepted_ns(model)) or _are_idle(model, first.pids)
    if idle and not accepts and first.queued:
        though = ", though its threads are idle"
        why = f"the threads of {subject(model)} are idle and do not accept them"
        remedies = [_held_back(model, first)]
    elif accepts or idle:
        who = plain(acceptor.comm) if acceptor and accepts else "an idle thread"
        why = f"more arrive at once than its queue of {first.limit:,} holds, though {who} waits for them"
        remedies.reverse()
    return conclude(
        model,
        {},
        headline=f"The accept queue of {brief(found.where)} overflows{though}; connections get no answer",
        claim=(
            f"{plural(found.least, 'connection')} to {found.where} found the accept queue full and got no answer:"
            f" {why}. Each client asks again after 1 s, then 3 s, then 7 s."
        ),
        mechanism=Mechanism.LIMIT,
        severity=_severity(found),
        doubts=[f"there may be more: {unsaid}" if unsaid else ""],
        evidence=_evidence(found),
        remedies=remedies,
        alternatives=[
            "a SYN flood, or checks that open many connections at once: ss -tn state syn-recv",
            "the program is stopped or waits for something else, and accepts nothing",
        ],
        verify=checked(
            f"watch -n 1 ss -ltn sport = :{first.port}",
            f"under the same load Recv-Q, now {first.queued:,}, stays below Send-Q, {first.limit:,}",
        ),
    )


def _are_idle(model: Model, pids: Sequence[int]) -> bool:
    """Return whether the threads of the processes that hold a socket are surely idle: a thread whose wait has no known
    purpose may be busy."""
    threads = [thread for pid in dict.fromkeys(pids) for thread in model.threads_of(pid)]
    wall_ns = sum(thread.wall_ns for thread in threads)
    busy_ns = sum(busy_ns_of(thread) + thread.ns(PARKED) for thread in threads)
    return wall_ns > 0 and busy_ns <= network_policy.idle_acceptors_share * wall_ns


def _held_back(model: Model, first: Listener) -> Remedy:
    """Return what to do about idle threads that do not accept: neither workers nor a longer queue help."""
    if are_refused(model):
        return fix(f"raise the limit of open files (LimitNOFILE, prlimit --nofile); {_NO_USE}")
    if not_accepted_ns(model):
        return fix(f"{find_limit(model)}; {_NO_USE}")
    limit = "find the limit that keeps its idle threads from accepting (maxconn, worker_connections, open files)"
    look = f"strace -f -e trace=accept,accept4,epoll_ctl -p {first.pids[0]} shows whether they still listen"
    return fix(f"{limit}: {look}; {_NO_USE}")


def _evidence(found: _Overflow) -> list[Evidence]:
    first, acceptor = found.sockets[0], found.acceptor
    evidence = [
        Evidence(
            f"{plural(found.dropped, 'connection')} dropped at {found.where}, {_at_least(found)} because the"
            " accept queue was full",
            float(found.least),
            "count",
            "sock_diag, /proc/PID/net/netstat",
        ),
        Evidence(
            f"accept queue of {plain(first.address)}:{first.port} at the end: {first.queued:,} wait, limit"
            f" {first.limit:,}",
            float(first.queued),
            "count",
            "sock_diag",
        ),
    ]
    if found.opened is not None:
        text = f"{plural(found.opened, 'connection')} accepted meanwhile: at least {percent(found.share)} were dropped"
        evidence.append(Evidence(text, found.share, "share", "/proc/PID/net/snmp"))
    if acceptor is not None:
        waited_ns = acceptor.ns("net.accept")
        text = f"{acceptor.name} waited {duration(waited_ns)} for connections"
        evidence.append(Evidence(text, float(waited_ns), "ns", "ledger"))
    return evidence


def _severity(found: _Overflow) -> Severity:
    """Return the severity by the part of connections dropped: clients feel one in twenty, though the threads lose no
    time."""
    if found.least < network_policy.dropped_connects or found.share < general_policy.worth_share:
        return Severity.INFO
    return Severity.CRITICAL if found.share >= general_policy.fault_share else Severity.WARNING


def _longer(first: Listener, listeners: Listeners | None) -> Remedy:
    """Return the remedy for a short queue: the program's own number, or the host's limit if that is the smaller one."""
    most = listeners.somaxconn if listeners else None
    if most is None or first.limit < most:
        upto = f", up to net.core.somaxconn ({most:,})" if most is not None else ""
        return fix(
            f"let the program ask for a longer queue{upto}: listen() at port {first.port} asked for {first.limit:,}"
            " (backlog= of nginx's listen, ListenBacklog, acceptCount, listen_backlog)"
        )
    there = listeners.enter(first) if listeners else ""
    return attempt(
        f"{there}sysctl -w net.core.somaxconn={2 * most}",
        f"{there}sysctl -w net.core.somaxconn={most}",
        f"net.core.somaxconn = {most} (takes effect when the program calls listen() again: reload or restart it)",
    )


def _at_least(found: _Overflow) -> str:
    return "all" if found.least >= found.dropped else f"at least {found.least:,}"
