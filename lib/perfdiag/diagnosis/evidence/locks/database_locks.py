"""Waits for the locks of a database in calls that look idle: what stacks prove, and whether requests wait."""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.debuggers import POSTGRES_PORT, port_option
from perfdiag.diagnosis.evidence.fix_checks import measured, time_under
from perfdiag.diagnosis.evidence.session_waits import telling
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, locks_policy
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import duration, fix, plain
from perfdiag.model.coverage.databases import COMMS
from perfdiag.model.model import Model, once
from perfdiag.model.stacks.symbols import is_named
from perfdiag.model.waits.database_lock_symbols import HIDDEN_LOCKS, POSTGRES, HiddenLock
from perfdiag.recording.schema import Stack


@dataclass(frozen=True)
class Proven:
    """Waits for one kind of lock, as far as sampled stacks prove them."""

    ns: int
    pids: Sequence[int]
    function: str  # in which most of them wait; "" without a name


def proven(model: Model, kind: HiddenLock, among: Set[int] | None = None) -> Proven:
    """Return the waits that stacks prove of one kind: the idle time of each process times the part of its samples."""
    sampled: Counter[int] = Counter()
    locked: Counter[int] = Counter()
    functions: Counter[str] = Counter()
    told = telling(model) if kind is POSTGRES else frozenset()
    for stack in model.wait_stacks(kind.account):
        if stack.pid in told:
            continue  # what it waited for is known of all its waits
        if among is not None and stack.pid not in among:
            continue
        weight_ns = stack.weight_ns or 1
        sampled[stack.pid] += weight_ns
        if function := kind.waited_in(stack):
            locked[stack.pid] += weight_ns
            functions[function] += weight_ns
    idle = idle_ns(model, kind.account)
    waits = {pid: round(idle[pid] * locked[pid] / sampled[pid]) if pid in idle else locked[pid] for pid in locked}
    most = max(waits.values(), default=0)
    pids = [pid for pid, ns in waits.items() if ns >= locks_policy.database_wait_of_longest_share * most]
    function = max(functions, key=lambda name: (is_named(name), functions[name], name), default="")
    return Proven(sum(waits[pid] for pid in pids), pids, function if is_named(function) else "")


@once
def of_serving(model: Model) -> list[tuple[HiddenLock, Proven]]:
    """Return the proven waits of each kind, only of processes that serve clients if those are known."""
    return [(kind, proven(model, kind, _serving(model, kind))) for kind in HIDDEN_LOCKS]


def _serving(model: Model, kind: HiddenLock) -> set[int] | None:
    """Return the processes seen to talk to clients, None if no function shows that: a background process such as an
    autovacuum worker delays no request."""
    if not kind.serves:
        return None
    stacks = model.wait_stacks(kind.account)
    return {stack.pid for stack in stacks if any(kind.serving(names) for names in (stack.user, stack.scan))}


def idle_ns(model: Model, account: str) -> Counter[int]:
    """Return the time in an account by process; ended processes may have none of their own."""
    return sums_by_key(
        (thread.pid, thread.accounts[account].ns)
        for thread in model.threads
        if thread.pid and account in thread.accounts
    )


def waits_for_lock(stack: Stack) -> bool:
    """Return whether a stack is of such a wait."""
    return any(kind.waited_in(stack) for kind in HIDDEN_LOCKS)


def database_locks(model: Model) -> Iterable[Finding]:
    """Return that requests, or where these are not followed all sessions, wait for such locks for a good part of their
    time; or that nothing tells whether they do: part of LOCK-CONTENTION."""
    time, found = model.request_time, False
    least_ns = (
        max(general_policy.fault_share * time.ns, general_policy.fault_of_window_share * model.window_ns)
        if time
        else locks_policy.database_wait_of_idle_share * _longer(model)
    )
    for kind, waits in of_serving(model) if time else [(kind, proven(model, kind)) for kind in HIDDEN_LOCKS]:
        inside_ns = time.accounts.get(kind.account, 0) if time else model.ns(kind.account)
        ns = min(inside_ns, waits.ns)  # sessions without a request wait for no lock
        if ns and ns >= least_ns:
            found = True
            yield _finding(model, kind, waits, ns, round(model.ns(kind.account) * ns / inside_ns))
    if not found and not model.host and _is_untold(model):
        yield _untold(model)


def _longer(model: Model) -> int:
    return max(model.window_ns, model.busy_ns)


def _finding(model: Model, kind: HiddenLock, waits: Proven, ns: int, claimed_ns: int) -> Finding:
    time = model.request_time
    who = "Requests wait" if time else _who(model, kind, waits.pids)
    where = f" ({plain(waits.function)})" if waits.function else ""
    whole = "the part of lock waits is that of the whole window, not of the slow requests alone"
    took = (
        f"a request waits {duration(ns // time.count)} for them, on average"
        if time
        else f"{duration(ns)} of {kind.account}"
    )
    return conclude(
        model,
        {kind.account: claimed_ns},
        severity=Severity.WARNING,
        headline=f"{who} for {kind.name}",
        claim=f"{who} {duration(ns)} for {kind.name}{where}: {kind.cause}.",
        mechanism=Mechanism.BUSY,
        evidence=[Evidence(took, float(ns), "ns", "stack samples")],
        remedies=[fix(f"see who holds them, and why: {kind.tells}; shorten the work under them: {kind.shorter}")],
        doubts=["sampled stacks estimate how long they wait", whole if time and time.excess else ""],
        alternatives=["many sessions take the same lock in turn, each for a short time"],
        verify=time_under(model, kind.account),
    )


def _who(model: Model, kind: HiddenLock, pids: Sequence[int]) -> str:
    if len(pids) != 1:
        return f"{plural(len(pids), kind.who)} wait"
    comm = next((thread.comm for thread in model.threads_of(pids[0])), kind.who)
    return f"{plain(comm)} ({pids[0]}) waits"


def _untold(model: Model) -> Finding:
    """Return that a PostgreSQL may wait for locks where it seems to wait for clients."""
    ns = model.ns(POSTGRES.account)
    return conclude(
        model,
        {} if model.request_time else {POSTGRES.account: ns},
        severity=Severity.INFO,
        best=Confidence.LOW,
        doubts=["no stack shows what it waits for"],
        headline="PostgreSQL waits for locks as it waits for clients: no stack shows for which",
        claim=f"It waited {duration(ns)} in {POSTGRES.account}, and no stack shows whether for locks or for clients.",
        mechanism=Mechanism.UNDETERMINED,
        evidence=[Evidence(f"{duration(ns)} of {POSTGRES.account}", float(ns), "ns", "ledger")],
        remedies=[fix(POSTGRES.command.format(port=port_option(model, " -p {}", POSTGRES_PORT)))],
        verify=measured(model, "stacks show locks or clients", "--stacks"),
    )


def _is_untold(model: Model) -> bool:
    """Return whether a PostgreSQL waits for most of its time, of which stacks show neither locks nor clients."""
    if telling(model):
        return False  # sessions say so themselves
    time = model.request_time
    part_ns = (
        time.accounts.get(POSTGRES.account, 0) - general_policy.fault_share * time.ns
        if time
        else model.ns(POSTGRES.account)
    )
    servers = {thread.pid for thread in model.threads if thread.comm in COMMS}
    waiting = servers & idle_ns(model, POSTGRES.account).keys()
    stacks = [stack for stack in model.wait_stacks(POSTGRES.account) if stack.pid in waiting]
    readable = any(POSTGRES.would_show((*stack.user, *stack.scan)) for stack in stacks)
    told = readable and waiting <= {stack.pid for stack in stacks}
    return bool(waiting) and part_ns > (0 if time else model.busy_ns) and not told
