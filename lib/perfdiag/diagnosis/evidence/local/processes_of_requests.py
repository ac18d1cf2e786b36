"""Requests that start processes and wait for them while those compute: which, how many, and for what part of the time.

The CPU time of such a process is that of the request which waits for it: it is told with the name of the process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.cpu import kernel_work
from perfdiag.diagnosis.evidence.cpu.call_path import code_evidence
from perfdiag.diagnosis.evidence.cpu.main_work import main_work
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.target import CPU, cpu_ns
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy, general_policy, local_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import duration, fix, percent, plain
from perfdiag.model.model import Model
from perfdiag.model.requests.awaited_processes import WAITS
from perfdiag.model.requests.request_time import RequestTime
from perfdiag.model.thread_accounts import ThreadLedger

NAMED = 3  # programs, in a headline
_FEWER = fix(
    "start fewer processes: keep a result that does not change, use a library instead of a program, or give the work to"
    " a process that stays"
)
_LOOK = fix("see what one of them does: perfdiag latency -- COMMAND")


@dataclass(frozen=True)
class _Awaited:
    """Processes that ended in the window, and for which requests waited while they computed."""

    ns: Mapping[str, int]  # of request time, by account of CPU time
    processes: Sequence[ThreadLedger]  # or folds of several
    requests: int

    @property
    def names(self) -> list[tuple[str, int]]:
        """Their names, and how many have each, most first."""
        numbers = sums_by_key((each.comm, each.processes) for each in self.processes)
        return sorted(numbers.items(), key=lambda item: (-item[1], item[0]))

    @property
    def count(self) -> int:
        """How many processes there were."""
        return sum(each.processes for each in self.processes)

    @property
    def of_each(self) -> int:
        """How many of them a request starts; 0: most requests start none."""
        return round(self.count / max(self.requests, 1))

    @property
    def each_ns(self) -> float:
        """What one of them computes on average."""
        return sum(map(cpu_ns, self.processes)) / max(self.count, 1)

    @property
    def long(self) -> bool:
        """Whether a request starts one that computes for longer than starting a process takes."""
        return self.of_each == 1 and self.each_ns >= local_policy.short_life_ns

    @property
    def headline(self) -> str:
        """The sentence on who waits for whom."""
        names = first_of([plain(comm) for comm, _ in self.names], NAMED)
        about = "" if self.count == self.of_each * self.requests else "about "
        if self.of_each > 1:
            return f"Requests start {about}{self.of_each} processes each and wait for them: {names}"
        if self.long:
            return f"Requests wait for {names}, which computes {duration(self.each_ns)} each time"
        if self.of_each == 1:
            return f"Requests start {about}one process each and wait for it: {names}"
        return f"Requests start processes and wait for them: {names}"


def waiting_for_processes(model: Model) -> Finding | None:
    """Return the finding on requests that start processes and wait for what those compute, if that takes a good part of
    their time: no fault, because no limit says how many are too many."""
    time = model.request_time
    found = _awaited(model, time) if time else None
    if time is None or found is None or sum(found.ns.values()) < general_policy.fault_share * time.ns:
        return None
    ns = sum(found.ns.values())
    mostly, computed = _computed(model)
    listed = ", ".join(f"{plain(comm)} ({number:,})" for comm, number in found.names)
    return conclude(
        model,
        # of the threads' time the part that has this part of the requests'
        {name: part * model.ns(name) // time.accounts[name] for name, part in found.ns.items() if part},
        headline=f"{found.headline}{mostly}",
        claim=f"Requests wait {duration(ns)}, {percent(ns / time.ns)} of their time, for processes that they start,"
        f" while those compute: {listed}.",
        mechanism=Mechanism.WORK,
        departs=False,
        evidence=[_lives(found), *computed],
        remedies=[_LOOK, _FEWER] if found.long else [_FEWER, _LOOK],
        alternatives=["the processes do the work that the requests are for"],
        verify=fewer(model, "processes", found.count),
    )


def _awaited(model: Model, time: RequestTime) -> _Awaited | None:
    """Return the processes that requests wait for while those compute, as far as they have ended since: who stays, as
    a worker, is no process of a request."""
    processes = [thread for thread in model.threads if thread.exited and thread.processes]
    pids = _staying(model)
    staying = pids | {thread.tid for thread in model.threads if thread.pid in pids}
    awaited_ns = sums_by_key(
        (chain.some_tid not in staying, chain.ns)
        for chain in model.chains
        if chain.inside and chain.account in WAITS and chain.root in CPU and chain.some_tid
    )
    if not processes or not awaited_ns[True]:
        return None
    part = awaited_ns[True] / awaited_ns.total()
    served = [each.line for each in model.exchanges if each.served]
    return _Awaited(
        {name: min(round(time.awaited.get(name, 0) * part), time.accounts.get(name, 0)) for name in CPU},
        processes,
        sum(line.count + line.open for line in served),
    )


def _staying(model: Model) -> set[int]:
    """Return the processes that have not ended."""
    return {thread.pid for thread in model.threads if not thread.exited}


def _lives(found: _Awaited) -> Evidence:
    """Return how many there were, and what a mean one took: of threads that ended nobody knows whose they were."""
    text = f"{plural(found.count, 'process')} started{f', about {found.of_each:,} a request' if found.of_each else ''}"
    if all(each.threads == each.processes for each in found.processes):
        life_ns = sum(each.wall_ns for each in found.processes) / found.count
        text += f"; each lives {duration(life_ns)} and takes {duration(found.each_ns)} of CPU time on average"
    return Evidence(text, float(found.count), "count", "ledger")


def _computed(model: Model) -> tuple[str, list[Evidence]]:
    """Return what processes that have ended mostly do, for a headline, " (mostly with close())" or "", and by which
    calls and in which functions they compute, and what of it is the kernel's work."""
    ended = {stack.pid for stack in model.stacks} - _staying(model)
    if not ended:
        return "", []
    samples = CpuSamples(model, *ended)
    code = code_evidence(samples, samples.hottest(), f" of {samples.count:,} CPU samples in these processes")
    if work := main_work(model, samples):
        return f" (mostly {work.where})", [*code, work.evidence]
    kinds, kernel = kernel_work.work(samples), samples.part(lambda stack: bool(stack.kernel))
    if kernel.share < cpu_policy.kernel_of_cpu_share or not kinds:
        return "", code
    parts = kernel_work.parts_evidence(samples, kinds)
    return f" ({percent(kernel.share)} in the kernel: {kernel_work.words(kinds[:1])} of that)", [*code, *parts]
