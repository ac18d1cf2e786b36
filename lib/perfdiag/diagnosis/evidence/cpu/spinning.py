"""Threads that poll for work instead of sleeping, and the CPU time this takes."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, Part, part_of
from perfdiag.diagnosis.evidence.target import cpu_ns
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.significance import worth
from perfdiag.model.model import Model, once
from perfdiag.model.requests.request_time import ENOUGH_REQUESTS
from perfdiag.model.stacks.symbols import any_begins, symbol_of
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording import schema

# An interpreter runs longer between two polls than in them: 15 % in polls and under 10 % in requests is a spinning
# server.
AROUND_SHARE, SERVING_PART = 0.15, 0.1
# Calls that look at each descriptor, as long as that takes, by kernel function.
LOOKING = ("do_sys_poll", "do_poll", "core_sys_select", "do_select")
# Calls that return at once, by kernel function anywhere on the stack and by the wrapper in the C library.
ASKING = (
    "__x64_sys_sched_yield",
    "__do_sys_sched_yield",
    "do_sched_yield",
    "yield_task_fair",
    *LOOKING,
    "do_epoll_wait",
    "ep_poll",
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
# On the way to sleep or back: such a call waits.
SLEEPING = ("schedule_timeout", "schedule_hrtimeout")
# A receive with data copies it; no copy in 50 samples leaves at most 6 % for it.
COPYING = ("_copy_to_iter", "simple_copy_to_iter", "copy_page_to_iter", "skb_copy_datagram", "__skb_datagram_iter")
# Names of spin waits: only the name tells a spinning loop in user space from a working one.
NAMED = re.compile(
    r"spin_?(?:lock|wait|loop|pause|until)|(?:wait|lock|work)_?spin|busy_?(?:wait|poll|loop|spin)|cpu_relax|mm_pause"
    r"|thread_yield|yield_now|procyield|osyield",
    re.IGNORECASE,
)
# Of these, those for a lock.
LOCKS = re.compile(r"spin_?lock|lock_?spin", re.IGNORECASE)


@dataclass(frozen=True)
class Loop:
    """A process that polls for work in a loop, and its cost."""

    pid: int
    thread: ThreadLedger  # the busiest of those that hardly ever sleep
    asking: Part  # of the CPU samples of the process
    samples: int
    calls: Sequence[tuple[str, Part]]  # the polling calls, most first
    user_ns: int
    kernel_ns: int
    by_name: bool  # most of it is a loop in user space, told by its name
    around: bool  # what it does between the calls is part of it
    idles: bool  # it is a server's, whose requests hardly run

    @property
    def for_lock(self) -> bool:
        """Whether it mostly waits for a lock, by its name."""
        return self.by_name and LOCKS.search(self.calls[0][0]) is not None


@once
def spinning(model: Model) -> Sequence[Loop]:
    """Return the processes that poll for work in a loop, the costliest first."""
    awake = groups_by_key((thread.pid, thread) for thread in sleepless(model))
    found = [loop for pid, threads in awake.items() if (loop := _loop(model, pid, threads))]
    return sorted(found, key=lambda loop: -(loop.user_ns + loop.kernel_ns))


def sleepless(model: Model) -> list[ThreadLedger]:
    """Return busy threads that on average run for cpu_policy.spinning_sleepless_ns or more before they sleep."""
    return [
        t
        for t in model.threads
        if worth(model, cpu_ns(t)) and cpu_ns(t) >= cpu_policy.spinning_sleepless_ns * max(1, sleeps(t))
    ]


def sleeps(thread: ThreadLedger) -> int:
    """Return how often a thread went to sleep: waits for a CPU are none."""
    awake = ("cpu.", "runq.", "vm.")
    return sum(total.count for name, total in thread.accounts.items() if not name.startswith(awake))


def _loop(model: Model, pid: int, threads: Sequence[ThreadLedger]) -> Loop | None:
    samples = CpuSamples(model, pid)
    if samples.count < cpu_policy.samples_for_function:
        return None
    if _looks_at_many(samples):
        return None
    received = _found_nothing(samples)
    calls: Counter[str] = Counter()
    in_kernel = 0
    for stack in samples.stacks:
        call = asking_call(stack) or (_receiver(stack) if received else "")
        if call:
            calls[call] += stack.count
            in_kernel += stack.count if stack.kernel else 0
    asking = part_of(calls.total(), samples.count)
    process_ns = sum(cpu_ns(thread) for thread in model.threads_of(pid))
    awake_ns = sum(map(cpu_ns, threads))
    sure_ns, served_ns = (asking.share - asking.error) * process_ns, _served_ns(model)
    around = sure_ns < cpu_policy.spinning_share * awake_ns
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


def _looks_at_many(samples: CpuSamples) -> bool:
    """Return whether hardly any time is spent on the way into calls of poll() or select() and back: each works for
    long, as it goes through many descriptors."""
    inside = sum(stack.count for stack in samples.stacks if any_begins(stack.kernel, LOOKING))
    return inside >= cpu_policy.polling_inside_share * samples.count


def _served_ns(model: Model) -> int | None:
    """Return the CPU time inside of requests, at most: those not answered yet may have computed all along.  None where
    (nearly) none were served, or who computed for them is not known."""
    served = [each.line for each in model.exchanges if each.served]
    known_ns, whole_ns = sum(line.whole_ns for line in served), sum(line.sum_ns for line in served)
    if sum(line.count for line in served) < ENOUGH_REQUESTS or known_ns < cpu_policy.served_known_share * whole_ns:
        return None
    if any(line.declined for line in served):
        return None
    answered_ns = sum(part.sum_ns for line in served for part in line.accounts if part.account.startswith("cpu."))
    return answered_ns + sum(line.open * line.oldest_ns for line in served)


def asking_call(stack: schema.Stack) -> str:
    """Return the polling call or spin loop of a sample, "" if it does not poll."""
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
    """Return whether the samples show receives without data."""
    receiving = [stack for stack in samples.stacks if _receiver(stack)]
    count = sum(stack.count for stack in receiving)
    copying = sum(s.count for s in receiving if any(function.startswith(COPYING) for function in s.kernel))
    part = part_of(copying, count)
    return count >= cpu_policy.samples_for_function and part.share + part.error <= cpu_policy.spinning_copied_share
