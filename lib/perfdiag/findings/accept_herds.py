"""A rule on connections that wake many of those who wait for one, of whom one gets it: a thundering herd."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.findings.base import Check, Confidence, Evidence, Finding, Outcome, Remedy, Silence, rule
from perfdiag.findings.competition import Competition, all_ns, claims, competition, long_ns
from perfdiag.findings.target import again
from perfdiag.findings.weigh import by_key, duration, fault, fix, judged, percent, plain, total_ns, worth
from perfdiag.model import Model, Row, ThreadLedger

ID = "NET-ACCEPT-HERD"
OPENED = "Tcp.PassiveOpens"
# One wake-up in two for nothing may be a race of two; from here on most of them are.
MOST = 2
# A connection wakes each that waits at most once: what ends more often than that ends by time limits.
ONCE = 1.25
# Where at least every second one is woken by every connection, time limits do not just look alike.
EVERYBODY = 0.5
# Less than a tenth of one thread that queues for nothing is not felt: idle workers with a connection now and then.
FELT_OF_WINDOW = 0.1


@dataclass(frozen=True)
class _Herd:
    """Those who wait for connections, how often they were woken, and for how many connections at most."""

    threads: int
    processes: int
    ports: list[str]
    wakes: int
    opened: int

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
    " queueing behind own threads, by the part of all waits for a CPU that such wake-ups are; of less than a tenth of"
    " the window nothing is said. Of waits behind neighbours those up to 131 us are taken in: longer ones are"
    " CPU-CONTENTION.",
    alternatives="Waits for connections with a time limit that ends for all at once.",
    remedies="Let a connection wake one: EPOLLEXCLUSIVE, SO_REUSEPORT, a blocking accept, or one that accepts for all.",
    verify="Measure again: runq.busy behind own threads must be gone at the same number of connections.",
    refines=("CPU-OVERSUBSCRIBED",),
)
def accept_herd(model: Model) -> Iterable[Outcome]:
    """Join waits for connections with the connections that came, and both with the queue behind own threads."""
    rows = [row for row in model.rows_of("net.accept") if row.key.startswith("port:")]
    waiting = [thread for thread in model.threads if "net.accept" in thread.accounts]
    if len(waiting) < MOST or not rows:
        return
    competing, queues = competition(model), model.accounts.get("runq.busy")
    opened, wakes = _opened(model, waiting), _wakes(rows)
    if queues is None or not queues.count:
        return
    if opened is None:
        if _felt(model, total_ns(competing.own) * min(wakes, queues.count) // queues.count):
            yield Silence(ID, "how many connections came is not known", "nstat -az TcpPassiveOpens, twice")
        return
    largest = [plain(group[0].object) for group in sorted(by_key(rows).values(), key=_wakes, reverse=True)]
    herd = _Herd(len(waiting), len({thread.pid for thread in waiting}), largest, wakes, opened)
    part = min(1.0, max(0, herd.for_nothing) / queues.count)
    ns = round(total_ns(competing.own) * part)
    if not herd.woken_together or not _felt(model, ns):
        share = ns / model.busy_ns if model.busy_ns and herd.woken_together else 0.0
        counted = f"{wakes:,} wake-ups to accept, {opened:,} connections came"
        yield Check(ID, f"{counted}: queueing for nothing {percent(share)} of busy time", share, "share")
        return
    yield _finding(model, herd, part, competing)


def _opened(model: Model, waiting: Iterable[ThreadLedger]) -> int | None:
    """Return how many connections came at most; None where it is not known, as in a container below the target: the
    connections counted are those of the network namespaces of the processes asked for."""
    contained = {target.namespace_pid != target.pid for target in model.header.targets}
    if any((thread.namespace_tid != thread.tid) not in contained for thread in waiting):
        return None
    return model.facts.network_deltas.get(OPENED)


def _felt(model: Model, ns: int) -> bool:
    return worth(model, ns) and ns >= FELT_OF_WINDOW * model.window_ns


def _wakes(rows: Iterable[Row]) -> int:
    return sum(row.distribution.count for row in rows)


def _wanted(part: float, competing: Competition) -> dict[str, int]:
    """Return that part of the queueing behind own threads, and of short waits behind neighbours: who is not woken
    waits for nobody, but behind a neighbour who computes the next one waits as long."""
    wanted, long = all_ns(competing.own), long_ns(competing.neighbours)
    for key, ns in all_ns(competing.neighbours).items():
        wanted[key] = wanted.get(key, 0) + ns - min(ns, long.get(key, 0))
    return {key: round(ns * part) for key, ns in wanted.items() if round(ns * part)}


def _finding(model: Model, herd: _Herd, part: float, competing: Competition) -> Finding:
    wanted, at_once = _wanted(part, competing), herd.wakes / herd.opened
    ns, own_ns = sum(wanted.values()), total_ns(competing.own)
    surely = herd.wakes >= EVERYBODY * herd.threads * herd.opened
    confidence, limits = judged(
        model, Confidence.HIGH, ["" if surely else "a wait that ends by a time limit counts as a wake-up, too"]
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
                f"{duration(own_ns)} in the run queue behind own threads; {percent(part)} of the waits in the run queue"
                " are wake-ups that found no connection",
                float(own_ns),
                "ns",
                "ledger",
            ),
        ],
        _remedies(),
        alternatives=["waits for a connection with a time limit, which ends for all at once"],
        limits=limits,
        verify=f"{again(model)}: runq.busy behind own threads at the same number of connections",
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
