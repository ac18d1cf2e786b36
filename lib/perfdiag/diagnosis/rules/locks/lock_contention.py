"""LOCK-CONTENTION: threads wait for a lock; what its holder does meanwhile is usually the cause."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from perfdiag.diagnosis.evidence.debuggers import shows_stacks
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.local import outside_holders
from perfdiag.diagnosis.evidence.locks import (
    allocator_locks,
    condition_variable_herds,
    lock_remedies,
    never_released_locks,
    overlapping_readers,
)
from perfdiag.diagnosis.evidence.locks.database_locks import database_locks
from perfdiag.diagnosis.evidence.locks.holder_sentences import does_in_brief, in_brief, path, remedy_of
from perfdiag.diagnosis.evidence.locks.kernel_locks import subject_of
from perfdiag.diagnosis.evidence.locks.lock_holders import (
    WAITS_OF_HOLDERS,
    Holder,
    code_of,
    holder_of,
    is_outside,
    under,
)
from perfdiag.diagnosis.evidence.requests.awaited_threads import in_turn
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.rule import (
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Remedy,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    brief,
    by_key,
    claims_of,
    duration,
    fix,
    little,
    percent,
    plain,
    thread_of,
    together,
    top,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row, once
from perfdiag.model.stacks.symbols import HOTSPOT, is_named
from perfdiag.model.waits.database_lock_symbols import HIDDEN_LOCKS
from perfdiag.model.waits.runtime_locks import RuntimeLock, Words
from perfdiag.recording.accounts import PARKED, phrase_of

FUTEX, FILE, KERNEL = "lock.futex", "lock.file", "lock.kernel"

# Code of the runtime itself, as stacks name its library.
OF_JAVA = f"({HOTSPOT})"
OF_RUNTIMES = re.compile(r"\((libjvm|libruby|libpython|python\d|libcoreclr|libuv|node\b)")


@rule(
    "LOCK-CONTENTION",
    title="Threads wait for locks",
    accounts=(FUTEX, FILE, KERNEL, PARKED, *(kind.account for kind in HIDDEN_LOCKS)),
    meaning="Threads wait for a lock in user space (futex), on a file, or in the kernel. The finding names the"
    " holder, and what the holder does meanwhile: if it mostly waits for a flush to disk, fix the flush,"
    " not the lock.",
    measured="Lock waits by lock; all words of a runtime's lock (the GIL) count as one."
    " The holder is the thread that ended at least half of the waits (sched_waking) or had the lock"
    " longest. Each wake-up shows what it did meanwhile, also through further locks; if that is unknown"
    " for four fifths of the time, its accounts over the whole window decide. Threads that wait all along"
    " and are woken by nobody are deadlocked. Waits for a futex count as a lock only with evidence: a lock"
    " function on the stack, or threads that serve requests and wait for each other. Locks of databases"
    " that look idle count with lock functions on their stacks: if requests wait for them, or, without"
    " requests, from a tenth of the window on. Writers that wait for several times as long as a reader does"
    " wait for readers that overlap, if others read most of the time, too.",
    alternatives="The holder has no CPU (preempted, throttled); many threads take the lock in turn; a queue looks"
    " like a lock because its stack has a lock function.",
    remedies="Fix what the holder waits for, if the finding names it; else shorten or split the locked section. A"
    " GIL cannot be split: use processes instead of threads, or native code that releases it.",
    verify=(
        "The account of the lock (lock.futex, lock.file, lock.kernel; of databases and of threads that"
        " take turns wait.events, wait.timer, wait.parked) is under 5 % of the time."
    ),
    beats=("CALL-RETRIED", "WAIT-TIMER-IN-REQUEST", "TARGET-IDLE", "TARGET-SLEEPS", "TARGET-BLOCKED-OR-IDLE"),
)
def contention(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each lock that takes enough time, and one check for all others together."""
    found = 0
    never, stuck = never_released_locks.stuck(model)
    wanted = {
        row.key: max(code, key=lambda each: code[each]) for row in never if (code := _code(model, FUTEX, row.key))
    }
    if whole := never_released_locks.finding(model, never, stuck, wanted):
        found += 1
        yield whole
    told = set(map(id, never)) if whole else set()
    others = [row for row in model.rows_of(FUTEX, FILE, KERNEL) if id(row) not in told]
    for account, key, rows in _contended(model, others):
        found += 1
        if overlap := overlapping_readers.overlaps(model).get((account, key)):
            yield overlapping_readers.finding(model, overlap, rows, _code(model, account, key))
        else:
            yield outside_holders.told(model, rows, _finding(model, account, key, rows))
    for each in (*in_turn(model), *database_locks(model)):
        found += 1
        yield each
    parked = _suspicious_ns(model) / model.wall_ns if model.wall_ns else 0.0
    if parked >= locks_policy.parked_share and not (found and _named_stacks(model)):
        yield _cannot_tell(model, parked)
    elif not found:
        yield little(model, "LOCK-CONTENTION", "locks", model.ns(FUTEX, FILE, KERNEL))


def _contended(model: Model, rows: Iterable[Row]) -> Iterator[tuple[str, str, list[Row]]]:
    """Yield the locks that take enough time, the largest first, while threads have waited longer in that account than
    for those before: of what a recording tells beyond that, nothing is known."""
    left_ns = {account: model.ns(account) for account in (FUTEX, FILE, KERNEL)}
    for (account, key), of_lock in by_key(rows).items():
        ns = total_ns(of_lock)
        if worth(model, ns) and left_ns[account] > 0:
            left_ns[account] -= ns
            yield account, key, of_lock


def _cannot_tell(model: Model, parked: float) -> Silence:
    """Return the silence on threads that wake each other, for a lock or with work."""
    said = f"{percent(parked)} of thread time is blocked or idle (unknown), and threads of {subject(model)} end it"
    if _named_stacks(model):
        reason = f"{said}; their stacks show a condition, semaphore or runtime, which serves locks and work alike"
    else:
        reason = f"{said}; no stack with function names shows whether they wait for a lock or for work"
        if not model.measured("stacks"):
            return Silence("LOCK-CONTENTION", reason, "see perfdiag check, feature stacks")
    rows = [row for row in model.rows_of(PARKED) if row.waker_tid]
    longest = max(rows, key=lambda row: row.distribution.sum_ns)
    return Silence("LOCK-CONTENTION", reason, lock_remedies.tells(model, longest.pid))


@once
def _suspicious_ns(model: Model) -> int:
    """Return the blocked or idle time that may be due to a lock: threads of the target end it again and again.

    A joined thread is woken once or twice; waits that no thread of the target ends are for a timer, or for work from
    outside.
    """
    own = {thread.tid for thread in model.threads}
    return total_ns(
        row
        for row in model.rows_of(PARKED)
        if row.waker_tid in own and row.waker_tid and row.distribution.count >= locks_policy.parked_times
    )


@once
def _named_stacks(model: Model) -> bool:
    """Whether user-space functions of threads on a futex are known, so that a lock would have been recognised."""
    return any(is_named(name) for stack in model.wait_stacks(FUTEX, PARKED) for name in (*stack.user, *stack.scan))


def _finding(model: Model, account: str, key: str, rows: list[Row]) -> Finding:
    whole = together(rows)
    name = plain(rows[0].object or key)
    runtime = lock_remedies.lock_of_key(key)
    holder = _holder(model, rows, runtime)
    code = _code(model, account, key)
    asks = max(code, key=lambda each: code[each], default="")
    alone = account != FUTEX or runtime or OF_RUNTIMES.search(asks)
    allocates = account == FUTEX and not runtime and allocator_locks.is_of_allocator(model, key)
    together_ns = 0 if alone or allocates else condition_variable_herds.woken_ns(model, key)
    herd = together_ns > 0 and not (holder and holder.waits)
    if herd:
        at_once = whole.sum_ns > model.window_ns
        claim, remedies = condition_variable_herds.claim(name, whole.sum_ns, asks, at_once=at_once)
        headline = "Threads wake together from one condition and queue for its lock"
    elif allocates:
        claim, remedies = allocator_locks.claim(whole.sum_ns, plain(asks))
        headline = allocator_locks.HEADLINE
    else:
        headline, claim, remedies = _words(model, account, key, rows, runtime)
    if account == FUTEX and not runtime and not herd and not allocates:
        remedies = _remedies(model, rows, asks, holder)
    elif holder and not herd and not allocates and (root := remedy_of(holder)) and account != KERNEL:
        remedies.insert(len(remedies) if runtime else 0, fix(root))  # under a kernel's lock nothing is the program's
    evidence = [waits(whole, f"waits for {name}"), *_wanted(code)]
    limits = _limits(model, account, runtime, bool(code))
    told = not herd and (runtime is None or runtime.taken)  # else the runtime ends these waits: that says nothing
    if herd:
        evidence.append(condition_variable_herds.shown(together_ns))
    elif told:
        taken, shown, limit = _taken(holder, of_kernel=account == KERNEL)
        if holder is None and is_outside(model, rows):
            taken = f"; it is unknown who had it most of that time: no thread of {subject(model)}"
        claim += taken
        headline += in_brief(holder) if holder else ""
        evidence += shown
        limits.append(limit)
    return conclude(
        model,
        claims_of(rows),
        headline=headline,
        claim=f"{claim}.",
        mechanism=Mechanism.SLEEP if holder and told and holder.sleeps else Mechanism.BUSY,
        doubts=limits,
        evidence=evidence,
        remedies=remedies,
        alternatives=[outside_holders.NO_CPU, "many threads take the lock in turn, each for a short time"],
        verify=time_under(model, account),
        others=_others(model, holder) if told else (),
    )


def _wanted(code: Mapping[str, int]) -> list[Evidence]:
    """Return the evidence of the functions in which threads wait for the lock."""
    if not code:
        return []
    text = f"functions of the sampled waits: {top(code)}"
    return [Evidence(text, float(sum(code.values())), "ns", "stack samples", kind=EvidenceKind.FUNCTIONS)]


def _holder(model: Model, rows: list[Row], runtime: RuntimeLock | None) -> Holder | None:
    """Return who holds a lock. If the purpose of the lock is known, the holder is the thread that waits as that purpose
    says."""
    if runtime and (account := lock_remedies.account_under(runtime)) and (holder := under(model, rows, account)):
        return holder
    found = holder_of(model, rows)
    if found and runtime and runtime.words is Words.ONE_LOCK:
        # It guards all that the runtime does: to compute is no fault of a holder.
        return replace(found, root="", another="")
    if found and runtime and runtime.words is Words.OF_THREADS and not found.one and found.root in WAITS_OF_HOLDERS:
        # Each waits on a word of its own: a slow holder behind those who wake each other is not seen.
        return replace(found, root="")
    return found


def _taken(holder: Holder | None, *, of_kernel: bool) -> tuple[str, list[Evidence], str]:
    """Return how a claim continues with the holder, the evidence, and what limits it."""
    if holder is None:
        return "", [], "it is unknown who had the lock: no thread of this report"
    if not holder.root and not holder.another:
        return path(holder, of_kernel=of_kernel), [], ""
    part = f"outside of locks, {percent(holder.root_part)} of its time is {phrase_of(holder.root)}"
    if holder.known:
        part = f"{phrase_of(holder.root)} covers {percent(holder.root_part)} of what each of them waited"
    if holder.exact:
        what = f"{holder.root} {holder.root_object}".rstrip()
        does = f"{does_in_brief(holder.way or holder.root)} ({what})"
        text = f"for {percent(holder.root_part)} of the time that others waited, the holder ({holder.name}) {does}"
        return path(holder, of_kernel=of_kernel), [Evidence(text, holder.root_part, "share", "sched_waking")], ""
    had = "held longest by" if holder.one else "taken by"
    shown = Evidence(f"{had} {holder.name}; {part}", holder.root_part, "share", "sched_waking, ledger")
    limit = "the holder's time is that of the whole window, not only while it held the lock"
    return path(holder, of_kernel=of_kernel), [] if holder.another else [shown], limit


def _limits(model: Model, account: str, runtime: RuntimeLock | None, sampled: bool) -> list[str]:
    """Return what limits the identification of the lock."""
    limits = []
    if runtime:
        limits.append("sampled stacks tell which lock it is" if sampled else lock_remedies.without_names(runtime))
        if runtime.words is Words.OF_THREADS:
            limits.append("each thread waits on a word of its own: it is unknown whether that is one lock or several")
    elif sampled:
        limits.append("sampled stacks tell which code wants the lock")
    parked = _suspicious_ns(model) / model.wall_ns if model.wall_ns else 0.0
    if account == FUTEX and parked >= locks_policy.parked_share:
        limits.append(f"{percent(parked)} of thread time is blocked or idle (unknown), perhaps for locks")
    return limits


def _code(model: Model, account: str, key: str) -> dict[str, int]:
    """Return the functions that wait, or that identify a runtime's lock, by sampled time."""
    runtime = lock_remedies.lock_of_key(key)
    return lock_remedies.shows(model, runtime, key) if runtime else lock_remedies.waiting_code(model, account, key)


def _words(
    model: Model, account: str, key: str, rows: list[Row], runtime: RuntimeLock | None
) -> tuple[str, str, list[Remedy]]:
    """Return headline, claim and remedies of a lock as such, whoever holds it."""
    name, ns = plain(rows[0].object or key), total_ns(rows)
    if runtime:
        return f"Threads wait for {brief(name)}", *lock_remedies.claim(runtime, rows, name, ns)
    return _headline(model, account, key, name), *_claim(model, account, key, name, ns)


def _claim(model: Model, account: str, key: str, name: str, ns: int) -> tuple[str, list[Remedy]]:
    """Return the claim about the lock, and the remedies for this kind of lock."""
    if account == FILE:
        return f"Threads wait {duration(ns)} for the lock on {name}", [
            fix(
                "see who holds it: lslocks; if the process it names has ended, fuser -v of the file: a process that"
                " inherited the descriptor has the lock, too"
            ),
            fix("hold it for a shorter time, or lock ranges instead of the whole file"),
        ]
    if account == KERNEL:
        subject = subject_of(model, key)
        return f"Threads wait {duration(ns)} in the kernel for {subject.name} ({name})", [fix(subject.remedy)]
    return f"Threads wait {duration(ns)} for one lock ({name})", []


def _headline(model: Model, account: str, key: str, name: str) -> str:
    """Return the headline about the lock, without its holder."""
    if account == FILE:
        return f"Threads wait for the lock on {brief(name)}"
    if account == KERNEL:
        return f"Threads wait for {brief(subject_of(model, key).name)}"
    return "Threads queue for one lock"


def _others(model: Model, holder: Holder | None) -> list[Other]:
    """Return the holder, if that is mostly one thread of the target."""
    thread = thread_of(model, holder.tid) if holder and holder.one and holder.tid else None
    return [Other(thread.pid, plain(thread.comm), Relation.HOLDER)] if thread else []


def _remedies(model: Model, rows: list[Row], code: str, holder: Holder | None) -> list[Remedy]:
    """Return the remedies for a lock of the program's own, with the code to change."""
    root = remedy_of(holder) if holder else ""
    if code.endswith(OF_JAVA):
        # Garbage collection, compilation and safepoints: the program cannot shorten what the runtime locks.
        look = f"{code} is inside the Java runtime: -Xlog:gc,safepoint shows its pauses; a larger heap (-Xmx)"
        rest = [fix(root)] if holder and root and not holder.root.startswith("cpu.") else []
        return [fix(f"{look} means less garbage collection"), *rest]
    shorten = root or "shorten the locked section or split the lock"
    if holder and holder.root.startswith("runq."):
        return [fix(root)]
    if held_in := code_of(model, holder) if holder and holder.one else code:
        return [fix(f"in {held_in}: {shorten}")]
    if holder and code:
        return [fix(f"where {holder.name} holds it: {shorten}")]
    finds = "perfdiag latency --stacks names the code that waits"
    if model.header.options.stacks == "all":
        finds = f"the waiting code has no names here; {shows_stacks(model, rows[0].pid)} may show them"
    return [*([fix(root)] if root else []), fix(f"{finds}; shorten the locked section or split the lock")]
