"""A rule on connections that wake many of those who wait for one, of whom one gets it: a thundering herd."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.runqueue.competition import all_ns, claims, competition, felt, long_ns
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import on_cpu_ns, queued_ns
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import by_key, duration, fault, fix, judged, percent, plain
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger

ID = "NET-ACCEPT-HERD"
OPENED = "Tcp.PassiveOpens"
# One wake-up in two for nothing may be a race of two; from here on most of them are.
MOST = 2
# A connection wakes each that waits at most once: what ends more often than that ends by time limits.
ONCE = 1.25
# Where at least every second one is woken by every connection, time limits do not just look alike.
EVERYBODY = 0.5
# Where all others run and queue for less than a hundredth of what those do who wait, nobody else is in their way.
ALONE = 0.99


@dataclass(frozen=True)
class _Herd:
    """Those who wait for connections, how often they were woken, and for how many connections at most."""

    threads: int
    processes: int
    ports: list[str]
    wakes: int
    opened: int
    queues: int  # how often they became ready, to a busy CPU or to an idle one
    queued_ns: int  # how long they queued for busy ones

    @property
    def part(self) -> float:
        """Return the part of their queueing that is for nothing: as much as of the times that they became ready."""
        return min(1.0, max(0, self.for_nothing) / self.queues)

    @property
    def for_nothing(self) -> int:
        """How many wake-ups found no connection."""
        return self.wakes - self.opened

    @property
    def woken_together(self) -> bool:
        """Whether connections woke several at once: more wake-ups than connections, and not more than those who wait
        can have been woken by them."""
        return MOST * self.opened <= self.wakes <= ONCE * self.threads * self.opened

    @property
    def who(self) -> str:
        """Return how many wait, in words."""
        return f"{self.processes:,} processes" if self.processes > 1 else f"{self.threads:,} threads"


@rule(
    ID,
    title="Each new connection wakes many, and one gets it",
    accounts=("runq.busy",),
    meaning="Several processes or threads wait for connections to one port in a way that wakes all of them for each"
    " (poll or select on a shared listening socket). One gets it; the others queue for a CPU, find nothing and wait"
    " again. With epoll nothing tells connections from other events: CPU-OVERSUBSCRIBED then says that many are woken"
    " at once.",
    measured="Waits for a connection that ended, against the connections that the target's network namespaces took in"
    " (PassiveOpens: more than the target's own, never fewer), over the window. It is said where at least half of the"
    " wake-ups were for nothing, but not more than one for each that waits and each connection. Claimed is the"
    " queueing of those who wait for connections, by the part that such wake-ups are of the times that they became"
    " ready, for an idle CPU too; of less than a tenth of the window nothing is said. Of waits behind neighbours those"
    " up to 131 us are taken in (longer ones are CPU-CONTENTION), and behind own threads, where others than those who"
    " wait for connections run or queue.",
    alternatives="Waits for connections with a time limit that ends for all at once.",
    remedies="Let a connection wake one: EPOLLEXCLUSIVE, SO_REUSEPORT, a blocking accept, or one that accepts for all.",
    verify="Measure again: runq.busy behind own threads must be gone at the same number of connections.",
    beats=("CPU-OVERSUBSCRIBED",),
)
def accept_herd(model: Model) -> Iterable[Outcome]:
    """Join waits for connections with the connections that came, and both with the queue behind own threads."""
    rows = [row for row in model.rows_of("net.accept") if row.key.startswith("port:")]
    pids = {row.pid for row in rows}
    waiting = _waiting(model, pids)
    queues = sum(_count(thread, "runq.busy") + _count(thread, "runq.waking") for thread in waiting)
    if len(waiting) < MOST or not queues:
        return
    opened = _opened(model, waiting)
    largest = [plain(group[0].object) for group in sorted(by_key(rows).values(), key=_wakes, reverse=True)]
    processes, queued = len({thread.pid for thread in waiting}), sum(map(queued_ns, waiting))
    herd = _Herd(len(waiting), processes, largest, _wakes(rows), opened or 0, queues, queued)
    wanted = _wanted(model, herd, pids, _alone(model, waiting))
    ns = sum(wanted.values())
    if opened is None:
        if felt(model, ns):
            yield Silence(ID, "how many connections came is not known", "nstat -az TcpPassiveOpens, twice")
        return
    if not herd.woken_together or not felt(model, ns):
        share = ns / model.busy_ns if model.busy_ns and herd.woken_together else 0.0
        counted = f"{herd.wakes:,} wake-ups to accept, {opened:,} connections came"
        yield Check(ID, f"{counted}: queueing for nothing {percent(share)} of busy time", share, "share")
        return
    yield _finding(model, herd, wanted)


def _waiting(model: Model, pids: Collection[int]) -> list[ThreadLedger]:
    """Return the threads of these processes that wait for connections: those of others wait at unix or vsock
    sockets.  The rows of processes that ended stand under pid 0."""
    return [
        thread
        for thread in model.threads
        if "net.accept" in thread.accounts and (thread.pid in pids or (thread.exited and 0 in pids))
    ]


def _count(thread: ThreadLedger, account: str) -> int:
    return thread.accounts[account].count if account in thread.accounts else 0


def _alone(model: Model, waiting: Sequence[ThreadLedger]) -> bool:
    """Return whether next to nobody else in the target runs or queues."""
    return all(sum(map(of, waiting)) >= ALONE * sum(map(of, model.threads)) for of in (on_cpu_ns, queued_ns))


def _opened(model: Model, waiting: Iterable[ThreadLedger]) -> int | None:
    """Return how many connections came at most; None where it is not known, as in a container below the target: the
    connections counted are those of the network namespaces of the processes asked for."""
    contained = {target.namespace_pid != target.pid for target in model.header.targets}
    if any((thread.namespace_tid != thread.tid) not in contained for thread in waiting):
        return None
    return model.facts.network_deltas.get(OPENED)


def _wakes(rows: Iterable[Row]) -> int:
    return sum(row.distribution.count for row in rows)


def _wanted(model: Model, herd: _Herd, pids: Collection[int], alone: bool) -> dict[str, int]:
    """Return that part of what these processes queue behind own threads, and of their short waits behind neighbours:
    who is not woken waits for nobody, but behind a neighbour who computes the next one waits as long.  So does who
    waits behind an own thread that computes.  No more than those queue who wait for connections."""
    competing = competition(model)
    own, neighbours = ([row for row in rows if row.pid in pids] for rows in (competing.own, competing.neighbours))
    wanted = all_ns(own) if alone else _short_ns(own)
    for key, ns in _short_ns(neighbours).items():
        wanted[key] = wanted.get(key, 0) + ns
    part = herd.part * min(1.0, herd.queued_ns / max(1, sum(wanted.values())))
    return {key: round(ns * part) for key, ns in wanted.items() if round(ns * part)}


def _short_ns(rows: list[Row]) -> dict[str, int]:
    long = long_ns(rows)
    return {key: ns - min(ns, long.get(key, 0)) for key, ns in all_ns(rows).items()}


def _finding(model: Model, herd: _Herd, wanted: dict[str, int]) -> Finding:
    ns, at_once = sum(wanted.values()), herd.wakes / herd.opened
    surely = herd.wakes >= EVERYBODY * herd.threads * herd.opened
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "" if surely else "a wait that ends by a time limit counts as a wake-up, too",
            "connections to workers with a network namespace of their own would not be counted",
        ],
    )
    more = f" and {len(herd.ports) - 1} more" if len(herd.ports) > 1 else ""
    return Finding(
        ID,
        fault(model, ns),
        confidence,
        f"A new connection wakes many, and one gets it (a thundering herd): {herd.wakes:,} wake-ups of {herd.who} for"
        f" {herd.opened:,} connections; they queue for a CPU for {duration(ns)}.",
        claims(wanted),
        [
            Evidence(
                f"{herd.wakes:,} waits for a connection to {herd.ports[0]}{more} ended, and at most {herd.opened:,}"
                f" connections came: at least {at_once:.1f} wake-ups for each",
                at_once,
                "ratio",
                "ledger, /proc/PID/net/snmp",
            ),
            Evidence(
                f"those who wait for connections queued for a CPU for {duration(herd.queued_ns)}; they became ready"
                f" {herd.queues:,} times, and at least {herd.for_nothing:,} wake-ups found no connection:"
                f" {percent(herd.part)} of the queueing is taken to be for nothing",
                float(herd.queued_ns),
                "ns",
                "ledger",
            ),
        ],
        _remedies(),
        alternatives=["waits for a connection with a time limit, which ends for all at once"],
        limits=limits,
        verify=f"{again(model)}: runq.busy behind own threads at the same number of connections",
        headline=f"Each new connection wakes several of {herd.who}; only one gets it",
        mechanism=Mechanism.MANY,
    )


def _remedies() -> list[Remedy]:
    return [
        fix(
            "let a connection wake one: EPOLLEXCLUSIVE, a listening socket for each (SO_REUSEPORT; nginx: reuseport),"
            " a blocking accept() instead of poll, or one that accepts for all"
        ),
        fix("fewer workers that wait for connections: each is woken by every one"),
    ]


__all__ = ["accept_herd"]
