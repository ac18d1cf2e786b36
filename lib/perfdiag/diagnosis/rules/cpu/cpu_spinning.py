"""A rule on threads that ask again and again whether there is work instead of sleeping until there is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, FUNCTIONS, CpuSamples, Part, part_of
from perfdiag.diagnosis.evidence.runqueue.competition import competition
from perfdiag.diagnosis.evidence.target import CPU, again, cpu_ns, subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fault, fix, judged, plain, total_ns, worth
from perfdiag.model.model import Model, ThreadLedger, once
from perfdiag.model.requests.request_time import ENOUGH_KNOWN, ENOUGH_REQUESTS
from perfdiag.model.stacks.symbols import symbol_of
from perfdiag.recording import schema

ID = "CPU-SPINNING"
# Loops that only ask for work are what a thread does if they take two fifths of its samples; a busy event loop spends
# a tenth in epoll_wait.
SPINNING_SHARE = 0.4
# An interpreter runs longer between two calls than in them.  A server's loop that asks for a seventh of its time, and
# whose requests take less than a tenth, does nothing else.
AROUND_SHARE, SERVING_PART = 0.15, 0.1
# Who sleeps more often than after every 10 ms on the CPU waits as it should: event loops do so after microseconds.
SLEEPLESS_NS = 10_000_000
# Calls that return at once, by kernel function anywhere on the stack and by the wrapper in the C library.
ASKING = (
    "__x64_sys_sched_yield",
    "__do_sys_sched_yield",
    "do_sched_yield",
    "yield_task_fair",
    "do_sys_poll",
    "do_poll",
    "do_epoll_wait",
    "ep_poll",
    "core_sys_select",
    "do_select",
    "__x64_sys_poll",
    "__x64_sys_ppoll",
    "__x64_sys_epoll_wait",
    "__x64_sys_epoll_pwait",
    "__x64_sys_select",
    "__x64_sys_pselect6",
)
WRAPPERS = re.compile(r"(?:__)?(?:sched_yield|p?poll|epoll_p?wait2?|p?select)")
RECEIVING = ("sock_recvmsg", "__sys_recvfrom", "__x64_sys_recv", "____sys_recvmsg", "__sys_recvmsg")
RECEIVERS = re.compile(r"(?:__(?:libc_)?)?recv(?:from|msg|mmsg)?")
# On its way to sleep, or back: such a call waits.
SLEEPING = ("schedule_timeout", "schedule_hrtimeout")
# Who receives something copies it: not to be seen at all in 50 samples leaves 6 % for it.
COPYING = ("_copy_to_iter", "simple_copy_to_iter", "copy_page_to_iter", "skb_copy_datagram", "__skb_datagram_iter")
NOTHING_COPIED = 0.06
# Loops that are made to wait, by their names: nothing else tells a loop that waits in user space from one that works.
NAMED = re.compile(
    r"spin_?(?:lock|wait|loop|pause|until)|(?:wait|lock|work)_?spin|busy_?(?:wait|poll|loop|spin)|cpu_relax|mm_pause"
    r"|thread_yield|yield_now|procyield|osyield",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Loop:
    """A process that asks for work in a loop, and what its asking takes."""

    pid: int
    thread: ThreadLedger  # the busiest of those that hardly ever sleep
    asking: Part  # of the CPU samples of the process
    samples: int
    calls: Sequence[tuple[str, Part]]  # by what it asks, most first
    user_ns: int
    kernel_ns: int
    by_name: bool  # most of it is a loop in user space, told by its name
    around: bool  # what it does between the calls is part of it
    idles: bool  # it is a server's, whose requests hardly run


@rule(
    ID,
    title="A thread asks for work in a loop instead of sleeping until there is some",
    accounts=CPU,
    meaning="A thread hardly ever sleeps, and most of its CPU time goes to calls that return at once: sched_yield, poll"
    " or epoll_wait without a timeout, recv that finds nothing, or a loop that is named as one that waits. That is no"
    " work: the CPU time is burnt. Profile where nobody misses it; a fault where own threads wait for its CPU, or where"
    " it is burnt for requests that take less than a tenth of it, and would wake who sleeps.",
    measured="CPU stacks of each process sampled at the scheduler's tick, joined with the exact CPU time of those of"
    " its threads that run for at least 10 ms between two sleeps, over the window. The lower end of the 95 % interval"
    " of samples in such calls must reach two fifths of that time; only the part in them is claimed. (Of a server whose"
    " requests are known to take less than a tenth of that time 15 % do, and all but the requests is claimed.) A recv"
    " counts only where the samples show that nothing was copied.",
    alternatives="Polling on purpose (DPDK, low-latency trading). An event loop whose calls find something each time. A"
    " loop in user space that waits for a flag looks like one that computes: without such a name it is CPU-BOUND.",
    remedies="Sleep until there is work: poll with a timeout, a condition, an eventfd; spin for a bounded time only.",
    verify="Measure again: the CPU time of the thread has shrunk to that of its work.",
    beats=(
        "CPU-BOUND",
        "CPU-KERNEL-HEAVY",
        "CPU-SINGLE-THREAD",
        "DIR-HUGE",
        "PROC-CHILD-SLOW",
    ),
)
def cpu_spinning(model: Model) -> Iterable[Outcome]:
    """Join samples in calls that return at once with the CPU time of threads that hardly ever sleep."""
    loops = spinning(model)
    if loops:
        yield _finding(model, loops)
        return
    awake_ns = sum(cpu_ns(thread) for thread in _sleepless(model))
    if not worth(model, awake_ns):
        return
    count = CpuSamples(model).count
    if count < ENOUGH:
        why = f"only {count} CPU samples" if model.measured("stacks") else "no CPU stacks were sampled"
        reason = f"threads that hardly sleep ran {duration(awake_ns)}: working or asking for work, not told ({why})"
        yield Silence(ID, reason, f"record longer: {again(model, '--duration 60')}")
        return
    asking = CpuSamples(model).part(lambda stack: _call(stack) != "")
    text = f"asking for work {asking} of CPU samples, {duration(awake_ns)} by threads that hardly sleep"
    yield Check(ID, text, asking.share, "share")


@once
def spinning(model: Model) -> Sequence[Loop]:
    """Return the processes that ask for work in a loop, the costliest first."""
    awake: dict[int, list[ThreadLedger]] = {}
    for thread in _sleepless(model):
        awake.setdefault(thread.pid, []).append(thread)
    found = [loop for pid, threads in awake.items() if (loop := _loop(model, pid, threads))]
    return sorted(found, key=lambda loop: -(loop.user_ns + loop.kernel_ns))


def _sleepless(model: Model) -> list[ThreadLedger]:
    return [t for t in model.threads if worth(model, cpu_ns(t)) and cpu_ns(t) >= SLEEPLESS_NS * max(1, _sleeps(t))]


def _sleeps(thread: ThreadLedger) -> int:
    """Return how often a thread went to sleep: waits for a CPU are none."""
    awake = ("cpu.", "runq.", "vm.")
    return sum(total.count for name, total in thread.accounts.items() if not name.startswith(awake))


def _loop(model: Model, pid: int, threads: Sequence[ThreadLedger]) -> Loop | None:
    samples = CpuSamples(model, pid)
    if samples.count < ENOUGH:
        return None
    received = _found_nothing(samples)
    calls: Counter[str] = Counter()
    in_kernel = 0
    for stack in samples.stacks:
        call = _call(stack) or (_receiver(stack) if received else "")
        if call:
            calls[call] += stack.count
            in_kernel += stack.count if stack.kernel else 0
    asking = part_of(calls.total(), samples.count)
    process_ns = sum(cpu_ns(thread) for thread in model.threads if thread.pid == pid)
    awake_ns = sum(map(cpu_ns, threads))
    sure_ns, served_ns = (asking.share - asking.error) * process_ns, _served_ns(model)
    around = sure_ns < SPINNING_SHARE * awake_ns
    idles = served_ns is not None and served_ns <= SERVING_PART * awake_ns
    if around and not (idles and sure_ns >= AROUND_SHARE * awake_ns):
        return None
    user_ns, kernel_ns = (sum(thread.ns(name) for thread in threads) for name in ("cpu.user", "cpu.kernel"))
    each_ns, in_user = process_ns / samples.count, calls.total() - in_kernel
    names = {call: count for call, count in calls.items() if NAMED.search(call)}
    return Loop(
        pid=pid,
        thread=max(threads, key=cpu_ns),
        asking=asking,
        samples=samples.count,
        calls=[(name, part_of(count, samples.count)) for name, count in calls.most_common(3)],
        user_ns=max(0, user_ns - (served_ns or 0)) if around else min(round(in_user * each_ns), user_ns),
        kernel_ns=kernel_ns if around else min(round(in_kernel * each_ns), kernel_ns),
        by_name=2 * sum(names.values()) > calls.total(),
        around=around,
        idles=idles,
    )


def _served_ns(model: Model) -> int | None:
    """Return the CPU time inside of requests, at most: those not answered yet may have computed all along.  None where
    (nearly) none were served, or who computed for them is not known."""
    served = [each.line for each in model.exchanges if each.served]
    known_ns, whole_ns = sum(line.whole_ns for line in served), sum(line.sum_ns for line in served)
    if sum(line.count for line in served) < ENOUGH_REQUESTS or known_ns < ENOUGH_KNOWN * whole_ns:
        return None
    if any(line.declined for line in served):
        return None
    answered_ns = sum(part.sum_ns for line in served for part in line.accounts if part.account.startswith("cpu."))
    return answered_ns + sum(line.open * line.oldest_ns for line in served)


def _call(stack: schema.Stack) -> str:
    """Return what a sample asks by, "" where it does not ask: a system call, or a loop made to wait."""
    name = symbol_of(stack.user[0]) if stack.user else ""
    if any(function.startswith(SLEEPING) for function in stack.kernel):
        return ""
    if WRAPPERS.fullmatch(name):
        return name.lstrip("_")
    if any(function.startswith(ASKING) for function in stack.kernel):
        # In the kernel's own words where the caller is no wrapper of the C library.
        call = next((each for each in stack.kernel if each.startswith("__x64_sys_")), stack.kernel[0])
        return call.removeprefix("__x64_sys_")
    return name if NAMED.search(name) and not stack.kernel else ""


def _receiver(stack: schema.Stack) -> str:
    name = symbol_of(stack.user[0]) if stack.user else ""
    if any(function.startswith(SLEEPING) for function in stack.kernel):
        return ""
    return "recv" if RECEIVERS.fullmatch(name) or any(each.startswith(RECEIVING) for each in stack.kernel) else ""


def _found_nothing(samples: CpuSamples) -> bool:
    """Return whether the samples show that what was received was nothing."""
    receiving = [stack for stack in samples.stacks if _receiver(stack)]
    count = sum(stack.count for stack in receiving)
    copying = sum(s.count for s in receiving if any(function.startswith(COPYING) for function in s.kernel))
    part = part_of(copying, count)
    return count >= ENOUGH and part.share + part.error <= NOTHING_COPIED


def _finding(model: Model, loops: Sequence[Loop]) -> Finding:
    first = loops[0]
    user_ns, kernel_ns = (sum(getattr(loop, name) for loop in loops) for name in ("user_ns", "kernel_ns"))
    ns, missed_ns = user_ns + kernel_ns, total_ns(competition(model).own)
    severity = fault(model, missed_ns) if worth(model, missed_ns) else Severity.INFO
    if first.idles:
        severity = fault(model, ns)
    thread = first.thread
    asks = ", ".join(f"{plain(name)} {part}" for name, part in first.calls)
    others = f" So do {len(loops) - 1} more processes." if len(loops) > 1 else ""
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "that it waits there is told by the names of its functions alone" if first.by_name else "",
            "what it does between two calls is taken for the loop around them" if first.around else "",
        ],
    )
    return Finding(
        ID,
        severity,
        confidence,
        f"{plain(thread.comm)} ({first.pid}) asks for work in a loop instead of sleeping until there is some:"
        f" {first.asking} of its CPU samples only ask, {duration(ns)} of {subject(model)}'s CPU time.{others}",
        {account: each for account, each in zip(CPU, (user_ns, kernel_ns), strict=True) if each},
        [
            Evidence(
                f"asks by {asks} of {first.samples:,} CPU samples",
                first.asking.share,
                "share",
                FUNCTIONS,
                error=first.asking.error,
                kind=EvidenceKind.FUNCTIONS,
            ),
            Evidence(
                f"{plain(thread.comm)} (tid {thread.tid}) ran {duration(cpu_ns(thread))} and slept"
                f" {_sleeps(thread):,} times",
                float(_sleeps(thread)),
                "count",
                "ledger",
            ),
            *(
                [
                    Evidence(
                        f"own threads queued {duration(missed_ns)} behind each other", float(missed_ns), "ns", "ledger"
                    )
                ]
                if worth(model, missed_ns)
                else []
            ),
        ],
        [
            fix(
                "sleep until there is work: poll or epoll_wait with a timeout, a condition, an eventfd; where an answer"
                " comes within microseconds, spin for a bounded time and sleep then"
            ),
            fix("where polling is meant (DPDK, low-latency trading) this is its price: give it CPUs of its own"),
        ],
        alternatives=["an event loop with little work, whose calls find something each time", "polling on purpose"],
        limits=limits,
        verify=f"{again(model)}: CPU time of {plain(thread.comm)} at the same work",
        headline=f"{plain(thread.comm)} ({first.pid}) asks for work in a loop instead of sleeping",
        mechanism=Mechanism.WORK,
    )


__all__ = ["ID", "Loop", "cpu_spinning", "spinning"]
