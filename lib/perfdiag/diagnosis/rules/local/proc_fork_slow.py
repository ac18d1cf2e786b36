"""PROC-FORK-SLOW: each fork of a large process copies its page tables, mostly in vain."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import named
from perfdiag.diagnosis.evidence.cpu.stack_samples import FUNCTIONS, CpuSamples, Part
from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.target import CPU, again
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy, local_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import claims_of, duration, fault, fix, size, total_ns, worth
from perfdiag.model.model import Model, Row
from perfdiag.recording import schema
from perfdiag.recording.accounts import PIPE

ID = "PROC-FORK-SLOW"
# Kernel functions that copy an address space: a new thread, vfork and posix_spawn need none of them.
COPYING = ("dup_mmap", "dup_mm", "copy_page_range", "copy_mm", "anon_vma_fork")
# What ends the copy: the child becomes another program, or ends itself.
REPLACING, ENDING = ("exec_mmap",), ("exit_mmap",)
STARTING = ("begin_new_exec",)  # what most compilers make exec_mmap() a part of


@dataclass(frozen=True)
class _Forks:
    """What the forks of a target cost."""

    pid: int  # of the process that forks: the one with most samples
    copying: Part  # of the target's CPU samples: copying address spaces
    freeing: Part  # the same: giving the copies back, in the children
    samples: int
    children: int | None  # None: they were not watched
    copying_ns: int
    freeing_ns: int
    resident_bytes: int | None

    @property
    def each_ns(self) -> float | None:
        """Return the mean cost of one fork."""
        return self.copying_ns / self.children if self.children else None

    @property
    def slow(self) -> bool:
        """Return whether the size of the process makes forks slow."""
        if self.each_ns is not None:
            return self.each_ns >= local_policy.slow_fork_ns
        return self.resident_bytes is not None and self.resident_bytes >= local_policy.large_fork_bytes

    @property
    def ns(self) -> int:
        """Return the time that a fork without a copy would save."""
        return self.copying_ns + self.freeing_ns


@rule(
    ID,
    title="Forks of a large process copy its page tables",
    accounts=(*CPU, PIPE),
    meaning="fork() copies the page tables of the process, 8 bytes for each used page of 4 KiB, and marks its pages"
    " read-only. For gigabytes that takes tens of milliseconds, other threads that map or touch new memory"
    " wait, and each next write to a page is a fault. A child that starts another program at once discards"
    " the copy.",
    measured="CPU stacks that copy address spaces (dup_mmap) or free the copies in children, times the exact CPU"
    " time, and the parent's waits at pipes until its children run their program. Reported if a fork takes"
    " at least 1 ms on average; without watched children (--only), if the process has at least 64 MiB.",
    alternatives="A database saves a snapshot of its memory in a child: it needs the copy. Many processes started"
    " by a small one are PROC-CHILD-SLOW.",
    remedies="Use posix_spawn(), or vfork() and exec, instead of fork(); let a small process fork for the large"
    " one; use larger pages.",
    verify="The same work takes less CPU time in copy_page_range.",
    beats=(
        "IPC-PEER-SLOW",
        "PROC-CHILD-SLOW",
        "CPU-KERNEL-HEAVY",
        "CPU-SINGLE-THREAD",
        "CPU-BOUND",
        "DIR-HUGE",
    ),
)
def fork_slow(model: Model) -> Iterable[Outcome]:
    """Join CPU samples in the copying of address spaces with the children and the memory of the parent."""
    samples, children = CpuSamples(model), _children(model)
    if samples.count < cpu_policy.samples_for_function:
        if children and _largest_bytes(model) >= local_policy.large_fork_bytes and worth(model, model.ns("cpu.kernel")):
            reason = f"{children:,} processes started, but only {samples.count} CPU samples show what forking costs"
            yield Silence(ID, reason, f"record longer: {again(model, '--duration 60')}")
        return
    found = _forks(model, samples, children)
    if found is None:
        return
    if found.slow and worth(model, found.ns):
        yield _finding(model, found)
        return
    each = f", {duration(found.each_ns)} for each process" if found.each_ns is not None else ""
    yield Check(ID, f"copying address spaces {found.copying} of CPU samples{each}", found.copying.share, "share")


def _children(model: Model) -> int | None:
    """Return how many processes started in the window; None if the target's children are not watched."""
    if not model.header.options.descendants:
        return None
    there = {target.pid for target in model.header.targets}
    new = (
        t
        for t in model.threads
        if t.pid not in there and (t.exited or t.wall_ns < local_policy.present_share * model.window_ns)
    )
    return sum(thread.processes for thread in new)


def _largest_bytes(model: Model) -> int:
    return max((process.resident_bytes or 0 for process in model.facts.processes.values()), default=0)


def _forks(model: Model, samples: CpuSamples, children: int | None) -> _Forks | None:
    copying = [stack for stack in samples.stacks if _inside(stack, COPYING)]
    if not copying:
        return None
    by_pid = sums_by_key((stack.pid, stack.count) for stack in copying)
    parents = by_pid.keys() | {target.pid for target in model.header.targets}
    others = parents | {event.pid for event in model.events if event.name == "exec"}
    freeing = samples.part(lambda stack: _is_replaced(stack) or (stack.pid not in others and _inside(stack, ENDING)))
    part = samples.part(lambda stack: _inside(stack, COPYING))
    kernel_ns, ran_ns = model.ns("cpu.kernel"), model.ns(*CPU)
    copying_ns = min(round(part.share * ran_ns), kernel_ns)
    (pid, _), *_ = by_pid.most_common(1)
    process = model.facts.processes.get(pid)
    return _Forks(
        pid=pid,
        copying=part,
        freeing=freeing,
        samples=samples.count,
        children=children,
        copying_ns=copying_ns,
        freeing_ns=min(
            round(freeing.share * ran_ns), local_policy.fork_freeing_factor * copying_ns, kernel_ns - copying_ns
        ),
        resident_bytes=process.resident_bytes if process else None,
    )


def _inside(stack: schema.Stack, functions: tuple[str, ...]) -> bool:
    return any(function.startswith(functions) for function in stack.kernel)


def _is_replaced(stack: schema.Stack) -> bool:
    """Return whether a child that starts another program frees its copy."""
    return _inside(stack, REPLACING) or (_inside(stack, STARTING) and _inside(stack, ENDING))


def _awaited(model: Model, found: _Forks) -> list[Row]:
    """Return the parent's waits for its children, until these have freed the copy and run.

    The child holds the other end of a pipe that is closed when it starts another program: libuv, Python's subprocess
    and Go wait for that. Each pipe is used once, and the child that was waited for computed. Other waits at pipes may
    be for anything: they take longer than freeing the copy.
    """
    ran = {(chain.pid, chain.key): chain.ns for chain in model.chains if chain.account == PIPE and chain.root in CPU}
    rows = [row for row in model.rows_of(PIPE, pid=found.pid) if row.distribution.count == 1]
    rows = [row for row in rows if 2 * ran.get((row.pid, row.key), 0) > row.distribution.sum_ns]
    fits = len(rows) <= (found.children or 0) and total_ns(rows) <= local_policy.fork_freeing_factor * found.freeing_ns
    return rows if fits else []


def _finding(model: Model, found: _Forks) -> Finding:
    ran_ns = model.ns(*CPU)
    who = named(next((thread.comm for thread in model.threads_of(found.pid)), "a process"), found.pid)
    resident = f", which uses {size(found.resident_bytes)} of memory," if found.resident_bytes is not None else ""
    each = f" A fork takes about {duration(found.each_ns)}." if found.each_ns is not None else ""
    evidence = [
        Evidence(
            f"copying address spaces is {found.copying} of {found.samples:,} CPU samples: {duration(found.copying_ns)}",
            float(found.copying_ns),
            "ns",
            FUNCTIONS,
            error=found.copying.error * ran_ns,
        )
    ]
    if found.freeing_ns:
        text = f"children need {duration(found.freeing_ns)} more to free the copies"
        evidence.append(Evidence(text, float(found.freeing_ns), "ns", FUNCTIONS, error=found.freeing.error * ran_ns))
    awaited = _awaited(model, found)
    if awaited:
        text = (
            f"the parent waits {duration(total_ns(awaited))} more, at pipes, until {len(awaited):,} children run"
            " their program"
        )
        evidence.append(Evidence(text, float(total_ns(awaited)), "ns", "ledger"))
    if found.children:
        evidence.append(Evidence(f"{found.children:,} processes started", float(found.children), "count", "ledger"))
    if found.resident_bytes is not None:
        text = f"{who} uses {size(found.resident_bytes)} of memory"
        evidence.append(Evidence(text, float(found.resident_bytes), "bytes", "/proc/PID/status"))
    return conclude(
        model,
        {"cpu.kernel": found.ns, **claims_of(awaited)},
        headline=f"Each fork of {who} copies its page tables",
        claim=(
            f"Each fork of {who}{resident} copies its page tables: {duration(found.ns)} of CPU"
            f" time to make and free the copies.{each}"
        ),
        mechanism=Mechanism.MANY,
        severity=fault(model, found.ns),
        doubts=["it is unknown how often it forks: its children were not watched" if found.children is None else ""],
        evidence=evidence,
        remedies=_remedies(model),
        alternatives=["a database saves a snapshot of its memory in a child: it needs the copy"],
        verify=less(model, "CPU time in copy_page_range", found.copying_ns),
    )


def _remedies(model: Model) -> Sequence[Remedy]:
    starting = fix(
        "start other programs by posix_spawn(), or vfork() and exec, which copy nothing; or let a small process"
        " that is started early fork for the large one"
    )
    early = fix("fork the workers before the memory fills, or use threads: neither copies anything")
    huge = fix(
        "use huge pages for the large ranges, madvise(MADV_HUGEPAGE): one entry is copied instead of 512, but each"
        " first write after a fork may copy 2 MiB"
    )
    programs = any(event.name == "exec" for event in model.events)
    return [starting, early, huge] if programs else [early, starting, huge]
