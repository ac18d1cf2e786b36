"""NET-ACCEPT-HERD: each new connection wakes several waiting threads, and only one gets it (a thundering herd)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.runqueue.competition import all_ns, claims, competition, felt, long_ns
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import on_cpu_ns, queued_ns
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import by_key, duration, fault, fix, percent, plain
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger

ID = "NET-ACCEPT-HERD"
OPENED = "Tcp.PassiveOpens"


@dataclass(frozen=True)
class _Herd:
    """The threads that wait for connections, how often they were woken, and an upper bound of the connections."""

    threads: int
    processes: int
    ports: list[str]
    wakes: int
    opened: int
    queues: int  # how often they became ready, to a busy CPU or to an idle one
    queued_ns: int  # how long they queued for busy ones

    @property
    def part(self) -> float:
        """Return the part of their queueing that was useless: useless wake-ups of all times they became runnable."""
        return min(1.0, max(0, self.for_nothing) / self.queues)

    @property
    def for_nothing(self) -> int:
        """How many wake-ups found no connection."""
        return self.wakes - self.opened

    @property
    def woken_together(self) -> bool:
        """Whether connections woke several threads at once: more wake-ups than connections, but not more than every
        waiting thread for every connection."""
        return (
            network_policy.herd_wakes_factor * self.opened
            <= self.wakes
            <= network_policy.herd_ends_factor * self.threads * self.opened
        )

    @property
    def who(self) -> str:
        """Return how many processes or threads wait."""
        return f"{self.processes:,} processes" if self.processes > 1 else f"{self.threads:,} threads"


@rule(
    ID,
    title="Each new connection wakes several threads; only one gets it",
    accounts=("runq.busy",),
    meaning="Several processes or threads wait for connections with poll() or select() on one listening socket, so"
    " each connection wakes all of them. One gets it; the others queue for a CPU, find nothing and wait"
    " again. With epoll, CPU-OVERSUBSCRIBED reports it: epoll does not show which wake-ups were for"
    " connections.",
    measured="Ended waits for a connection against the connections that arrived (PassiveOpens of the network"
    " namespaces, an upper bound). Reported if at least half of the wake-ups found no connection, but not"
    " more than one for each waiting thread and connection, and if their part of the queueing is a tenth"
    " of the window. That part is claimed: behind own threads, and up to 131 us behind other processes"
    " (longer waits are CPU-CONTENTION).",
    alternatives="Waits for connections with a time limit that ends for all threads at once.",
    remedies="Wake one thread for each connection: EPOLLEXCLUSIVE, SO_REUSEPORT, a blocking accept(), or one thread"
    " that accepts for all.",
    verify="Each connection wakes fewer threads.",
    beats=("CPU-OVERSUBSCRIBED",),
    met=False,
)
def accept_herd(model: Model) -> Iterable[Outcome]:
    """Compare ended waits for connections with the connections that arrived; claim the useless queueing."""
    rows = [row for row in model.rows_of("net.accept") if row.key.startswith("port:")]
    pids = {row.pid for row in rows}
    waiting = _waiting(model, pids)
    queues = sum(_count(thread, "runq.busy") + _count(thread, "runq.waking") for thread in waiting)
    if len(waiting) < network_policy.herd_wakes_factor or not queues:
        return
    opened = _opened(model, waiting)
    largest = [plain(group[0].object) for group in sorted(by_key(rows).values(), key=_wakes, reverse=True)]
    processes, queued = len({thread.pid for thread in waiting}), sum(map(queued_ns, waiting))
    herd = _Herd(len(waiting), processes, largest, _wakes(rows), opened or 0, queues, queued)
    wanted = _wanted(model, herd, pids, _alone(model, waiting))
    ns = sum(wanted.values())
    if opened is None:
        if felt(model, ns):
            yield Silence(ID, "it is unknown how many connections arrived", "run nstat -az TcpPassiveOpens twice")
        return
    if not herd.woken_together or not felt(model, ns):
        share = ns / model.busy_ns if model.busy_ns and herd.woken_together else 0.0
        counted = f"{herd.wakes:,} wake-ups to accept, {opened:,} connections arrived"
        yield Check(ID, f"{counted}: useless queueing {percent(share)} of busy time", share, "share")
        return
    yield _finding(model, herd, wanted)


def _waiting(model: Model, pids: Collection[int]) -> list[ThreadLedger]:
    """Return the threads of these processes that wait for connections; threads of other processes wait at unix or vsock
    sockets. Rows of processes that ended are under pid 0."""
    return [
        thread
        for thread in model.threads
        if "net.accept" in thread.accounts and (thread.pid in pids or (thread.exited and 0 in pids))
    ]


def _count(thread: ThreadLedger, account: str) -> int:
    return thread.accounts[account].count if account in thread.accounts else 0


def _alone(model: Model, waiting: Sequence[ThreadLedger]) -> bool:
    """Return whether hardly any other thread of the target runs or queues."""
    return all(
        sum(map(of, waiting)) >= network_policy.herd_alone_share * sum(map(of, model.threads))
        for of in (on_cpu_ns, queued_ns)
    )


def _opened(model: Model, waiting: Iterable[ThreadLedger]) -> int | None:
    """Return an upper bound of the connections that arrived, or None if it is unknown: only the network namespaces of
    the processes given on the command line are counted, not those of containers below them."""
    contained = {target.namespace_pid != target.pid for target in model.header.targets}
    if any((thread.namespace_tid != thread.tid) not in contained for thread in waiting):
        return None
    return model.facts.network_deltas.get(OPENED)


def _wakes(rows: Iterable[Row]) -> int:
    return sum(row.distribution.count for row in rows)


def _wanted(model: Model, herd: _Herd, pids: Collection[int], alone: bool) -> dict[str, int]:
    """Return the useless part of the queueing behind own threads, and of short waits behind other processes. A thread
    that is not woken delays nobody, but a thread that computes delays the next one just as long, whether it
    belongs to the target or not. Never more than the threads that wait for connections queued."""
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
    surely = herd.wakes >= network_policy.herd_woken_share * herd.threads * herd.opened
    more = f" and {len(herd.ports) - 1} more" if len(herd.ports) > 1 else ""
    return conclude(
        model,
        claims(wanted),
        headline=f"Each new connection wakes several of {herd.who}; only one gets it",
        claim=(
            f"Each new connection wakes several threads, and only one gets it (a thundering herd): {herd.wakes:,}"
            f" wake-ups of {herd.who} for {herd.opened:,} connections. They queue for a CPU for {duration(ns)}."
        ),
        mechanism=Mechanism.MANY,
        severity=fault(model, ns),
        doubts=[
            "" if surely else "a wait that ends at its time limit counts as a wake-up, too",
            "connections to workers in another network namespace are not counted",
        ],
        evidence=[
            Evidence(
                f"{herd.wakes:,} waits for a connection to {herd.ports[0]}{more} ended, but at most {herd.opened:,}"
                f" connections arrived: at least {at_once:.1f} wake-ups for each",
                at_once,
                "ratio",
                "ledger, /proc/PID/net/snmp",
            ),
            Evidence(
                f"these threads queued for a CPU for {duration(herd.queued_ns)}; they became runnable"
                f" {herd.queues:,} times, and at least {herd.for_nothing:,} wake-ups found no connection:"
                f" {percent(herd.part)} of the queueing is counted as useless",
                float(herd.queued_ns),
                "ns",
                "ledger",
            ),
        ],
        remedies=_remedies(),
        alternatives=["waits for a connection with a time limit that ends for all threads at once"],
        verify=measured(model, f"fewer wake-ups for each connection, now {at_once:.1f}"),
    )


def _remedies() -> list[Remedy]:
    return [
        fix(
            "wake one thread for each connection: EPOLLEXCLUSIVE, one listening socket each (SO_REUSEPORT; nginx:"
            " reuseport), a blocking accept() instead of poll(), or one thread that accepts for all"
        ),
        fix("reduce the number of workers that wait for connections: every connection wakes each of them"),
    ]
