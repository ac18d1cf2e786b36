"""Rules on what is left: waits named only by what they wait in, completions of asynchronous I/O, the unexplained."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.debuggers import with_stacks
from perfdiag.diagnosis.evidence.disk.backing_disks import requests_of
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import (
    about,
    by_key,
    claims_of,
    duration,
    fault,
    fine,
    fix,
    judged,
    percent,
    plain,
    together,
    top,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.waits.receiving_calls import CALL, OPEN

OTHER, URING, UNEXPLAINED = "kernel.other", "wait.io_uring", "unexplained"

# A quarter of the busy time in calls no other rule knows is worth somebody's look, whatever they are.
LARGE_SHARE = 0.25
_FIFO = "whether it opens a FIFO is not known: waiting for work looks the same as waiting for an answer"
_PERHAPS = "; if of a FIFO, cannot tell whether for work or for an answer"
_OTHER_END = "a FIFO whose other end nobody opened yet: cannot tell whether it waits for work or for an answer"
# A spinning disk answers in 10 ms: a completion that takes longer met a queue, a slow device or a slow peer.
SLOW_COMPLETION_NS = 10_000_000
# A device explains waits if its requests take as long, on average, but for those that were under way before the wait.
EXPLAINING_PART = 0.5
# The ledger's own law: more than one in a hundred unexplained is said, always.
EXPLAINED_SHARE = 0.01


@rule(
    "KERNEL-OTHER",
    title="Blocked in the kernel for a reason only its name tells",
    accounts=(OTHER,),
    meaning="Threads are blocked in system calls that belong to no other account: exec, exit, RCU (membarrier), tty,"
    " device ioctl, a full message queue, userfaultfd. The object names the call or kernel function. It is profile,"
    " unless it is a quarter of the busy time. Receiving from a message queue, netlink, a device or a terminal, semop"
    " and the opening of a FIFO wait for work or for an answer, cannot tell which, and are wait.parked.",
    measured="Waits of kernel.other by object over the window; that what was opened is a FIFO is told by sampled"
    " stacks. An opening without any is profile.",
    alternatives="A driver that is slow; a debugger or terminal that does not read; a FIFO whose other end nobody"
    " opened yet, which waits for work or for an answer.",
    remedies="Look up what the call named does; sampled wait stacks show the way to it.",
    verify="perfdiag latency again: kernel.other.",
)
def kernel_other(model: Model) -> Iterable[Outcome]:
    """Name the largest objects of kernel.other."""
    rows = model.rows_of(OTHER)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "KERNEL-OTHER", "other waits in the kernel", OTHER)
        return
    groups = by_key(rows)
    names = {plain(group[0].object or key[1] or "not named"): total_ns(group) for key, group in groups.items()}
    largest = next(iter(groups.values()))
    opened = [row for row in rows if _may_be_fifo(model, row)]
    fifo = 2 * total_ns(opened) > taken_ns
    named = bool(largest[0].key)  # a script does not tell, and what it cannot tell apart is in here, too
    large = named and taken_ns - total_ns(opened) >= LARGE_SHARE * model.busy_ns
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        ["" if named else "which call it is was not recorded", _FIFO if fifo else ""],
    )
    yield Finding(
        "KERNEL-OTHER",
        Severity.WARNING if large else Severity.INFO,
        confidence,
        f"{duration(taken_ns)} blocked in the kernel for other reasons: "
        f"{top(names) if named else 'cannot tell in which calls'}{_PERHAPS if fifo else ''}.",
        claims_of(rows),
        [waits(together(rows), "waits"), waits(together(largest), f"of them in {next(iter(names))}")],
        [fix(with_stacks(model, "shows which code waits there, and in which kernel function"))],
        alternatives=[_OTHER_END] * fifo + ["a slow driver", "a debugger or terminal that does not read"],
        limits=limits,
        verify=f"{again(model)}: kernel.other",
        headline="Threads are blocked in the kernel for other reasons",
        mechanism=Mechanism.UNDETERMINED if fifo or not named else Mechanism.OTHERS,
    )


def _may_be_fifo(model: Model, row: Row) -> bool:
    """Return whether no stack tells what it is whose opening takes so long."""
    opens = row.key.startswith(CALL) and row.key.removeprefix(CALL) in OPEN
    return opens and not any(stack.kernel for stack in model.wait_stacks(OTHER, key=row.key))


@rule(
    "IO-URING-SLOW",
    title="Completions of asynchronous I/O are waited for",
    accounts=(URING,),
    meaning="Threads wait in io_uring_enter or io_getevents while requests are in flight. Short waits are profile;"
    " from 10 ms on a device is slow, if its own requests take half as long. Else a peer or file system can be slow:"
    " cannot tell. With nothing in flight but polls, accepts, receives and timeouts the wait is for work and counted as"
    " idle; where requests could not be counted it can be so, too, and the finding says that.",
    measured="Waits of wait.io_uring with requests in flight over the window, joined with the block requests of the"
    " same window: their time per request says whether the device explains the wait.",
    alternatives="Work done by io_uring's own kernel threads, which are not in these books.",
    remedies="See the DISK or NET findings for what the requests go to; submit fewer at once.",
    verify="perfdiag latency again: p50 of wait.io_uring.",
)
def io_uring(model: Model) -> Iterable[Outcome]:
    """Join completion waits with the time per block request: what no device explains accuses nobody."""
    rows = model.rows_of(URING)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "IO-URING-SLOW", "waiting for completions", URING)
        return
    whole = together(rows)
    typical = typical_ns(whole)
    evidence = [waits(whole, "waits for completions")]
    busiest = max(model.devices, key=lambda device: device.queue_ns + device.service_ns, default=None)
    each = requests_of([busiest]).mean_ns if busiest and busiest.count else 0
    explained = each >= EXPLAINING_PART * typical
    uncounted = any(row.key != "inflight" for row in rows)
    untold = "" if explained or typical < SLOW_COMPLETION_NS else "; cannot tell for whom: no device takes so long"
    if busiest and each:
        evidence.append(
            Evidence(
                f"{model.facts.disk_name(busiest.device)} took {duration(each)} for each of {busiest.count:,}"
                f" {plain(busiest.operation)} requests",
                each,
                "ns",
                "block_rq_complete",
            )
        )
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "what the requests were for (disk, peer) is not known",
            "in some waits requests could not be counted: there may have been none" if uncounted else "",
            "" if model.measured("block") else "block requests were not measured",
        ],
    )
    yield Finding(
        "IO-URING-SLOW",
        fault(model, taken_ns) if explained and typical >= SLOW_COMPLETION_NS else Severity.INFO,
        confidence,
        f"Threads wait {duration(taken_ns)} for completions of asynchronous I/O, half of it in waits of"
        f" {about(typical)}{untold}.",
        claims_of(rows),
        evidence,
        [fix("see the DISK and NET findings for what the requests go to; fewer requests in flight shorten each")],
        alternatives=["with requests that could not be counted: nobody wanted anything"] * uncounted,
        limits=limits,
        verify=f"{again(model)}: p50 of wait.io_uring",
        headline="Threads wait for completions of asynchronous I/O",
        mechanism=Mechanism.UNDETERMINED
        if untold
        else Mechanism.SLOW
        if typical >= SLOW_COMPLETION_NS
        else Mechanism.OTHERS,
    )


@rule(
    "UNEXPLAINED",
    title="Time that no account could be shown for",
    accounts=(UNEXPLAINED,),
    meaning="Time between two switches of a thread for which the ledger found no reason. It is printed and never"
    " hidden; above a hundredth of the busy time it limits what every other finding may say.",
    measured="The account unexplained over the window, with the kernel functions sampled there.",
    alternatives="Lost records; a kernel function the ledger does not know.",
    remedies="Record it (--record) and report it with the functions named.",
    verify="perfdiag latency again: unexplained under 1 %.",
)
def unexplained(model: Model) -> Iterable[Outcome]:
    """Say how much is unexplained, and where its stacks stood."""
    taken_ns, part = model.ns(UNEXPLAINED), model.share(UNEXPLAINED)
    if part < EXPLAINED_SHARE:
        yield Check("UNEXPLAINED", f"unexplained {percent(part)} of busy time", part, "share")
        return
    functions: dict[str, int] = {}
    for stack in model.wait_stacks(UNEXPLAINED):
        if stack.kernel:
            name = plain(stack.kernel[0])
            functions[name] = functions.get(name, 0) + stack.weight_ns
    evidence = [Evidence(f"{duration(taken_ns)} in no account", float(taken_ns), "ns", "ledger")]
    if functions:
        evidence.append(
            Evidence(
                f"stacks stood in {top(functions)}",
                float(sum(functions.values())),
                "ns",
                "stack samples",
                kind=EvidenceKind.FUNCTIONS,
            )
        )
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [f"{percent(part)} of the busy time has no cause", "" if functions else "no stack of it was sampled"],
    )
    yield Finding(
        "UNEXPLAINED",
        Severity.INFO,
        confidence,
        f"{duration(taken_ns)} ({percent(part)} of the busy time) could not be explained: no finding speaks for it.",
        {UNEXPLAINED: taken_ns},
        evidence,
        [fix(_report_it(model))],
        alternatives=["lost records"],
        limits=limits,
        verify=f"{again(model)}: unexplained under 1 %",
        headline=f"{percent(part)} of busy time could not be explained",
        mechanism=Mechanism.OTHERS,
    )


def _report_it(model: Model) -> str:
    """Return how the function that no account knows becomes known to who can mend it."""
    if model.header.options.stacks == "all":
        return "report the kernel functions that --full shows for it: the ledger does not know them"
    return f"{again(model, '--stacks --record FILE')}, and report the kernel functions it shows"


__all__ = ["io_uring", "kernel_other", "unexplained"]
