"""CPU-SINGLE-THREAD: one thread is the limit while CPUs are free."""

import re
from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.call_path import code_evidence
from perfdiag.diagnosis.evidence.cpu.cheaper import cheaper
from perfdiag.diagnosis.evidence.cpu.kernel_work import Work, remedies, work
from perfdiag.diagnosis.evidence.cpu.spinning import spinning
from perfdiag.diagnosis.evidence.cpu.stack_samples import (
    CpuSamples,
    slowed_processes,
)
from perfdiag.diagnosis.evidence.fix_checks import part_under
from perfdiag.diagnosis.evidence.pipelines import Pipeline, Stage, pipelines
from perfdiag.diagnosis.evidence.target import CPU, again, cpu_ns, usable_cpus
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import brief, by_key, duration, fault, fix, percent, plain, total_ns, worth
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger

_RING_POLLER = re.compile(r"iou-sqp-\d+")
# Waits of others that the thread ended: its locks, its pipes and sockets.
DEPENDENT = ("lock.futex", "lock.file", "lock.kernel", "lock.database", "ipc.pipe", "ipc.unix")


@rule(
    "CPU-SINGLE-THREAD",
    title="One thread runs all the time while the others wait",
    accounts=CPU,
    meaning=(
        "One thread runs nearly all the time, the others wait or are idle, and CPUs are free. More CPUs do not help."
        " It is a fault if others wait for this thread; otherwise it is a profile (batch job)."
    ),
    measured=(
        "CPU time against lifetime of each thread seen for a second or more, with the lock, pipe and socket waits"
        " that this thread ended. In a pipeline: the awaited stage, if it ran or was runnable for seven tenths of the"
        " time."
    ),
    alternatives="A program with one thread by design (Redis, Node.js, an interpreter lock), or a busy-poller.",
    remedies="Make this thread's work cheaper, batch it, or split it over several threads.",
    verify="The thread runs less than nine tenths of the time for the same work, or does more work.",
    beats=("CPU-BOUND", "CPU-KERNEL-HEAVY"),
    one_process=True,
)
def single_thread(model: Model) -> Iterable[Outcome]:
    """Join CPU time by thread with the waits that the busiest thread ended."""
    folded = sum(cpu_ns(thread) for thread in model.threads if not thread.tid)
    alone = [thread for thread in model.threads if thread.tid]
    saturation = cpu_policy.single_thread_saturated_share
    needed = min(cpu_policy.single_thread_observed_ns, round(saturation * model.window_ns))
    running = sorted((t for t in alone if t.wall_ns >= needed), key=_load, reverse=True)
    if not worth(model, model.ns(*CPU)):
        return
    if folded > model.ns(*CPU) / 2:
        yield Silence(
            "CPU-SINGLE-THREAD",
            f"threads that ended used {duration(folded)} of CPU time, and are known only together",
            f"record shorter: {again(model, '--duration 2')}",
        )
        return
    cpus = usable_cpus(model)
    limit = _limited_pipeline(model)
    if limit and cpus > 1:
        yield _of_pipeline(model, limit)
        return
    running = _working(model, running)
    saturated = [thread for thread in running if _load(thread) >= saturation]
    second = max((_load(thread) for thread in running if _load(thread) < saturation), default=0.0)
    if len(saturated) != 1 or len(alone) < 2 or second > cpu_policy.single_thread_others_share or cpus < 2:
        if running and len(alone) > 1:
            name, load = plain(running[0].comm), _load(running[0])
            yield Check(
                "CPU-SINGLE-THREAD",
                f"the busiest thread, {name}, runs {percent(load)} of the time, the next"
                f" {percent(_load(running[1]) if len(running) > 1 else 0.0)}, on {cpus} CPUs",
                load,
                "share",
                large=load >= saturation,
            )
        return
    thread, others = saturated[0], len(alone) - 1
    waiting = [
        row
        for row in model.rows_of(*DEPENDENT)
        if row.waker_tid == thread.tid and 2 * row.waker_count >= row.distribution.count
    ]
    idle = f"the other {others} threads wait or sleep" if others > 1 else "the only other thread waits or sleeps"
    claim = f"{plain(thread.comm)} runs {percent(_load(thread))} of the time while {idle}, with {cpus} CPUs available"
    beside = f"{f'the busiest of {others} others' if others > 1 else 'the other thread'} ran {percent(second)}"
    yield _finding(model, [thread], waiting, total_ns(waiting), claim, beside, waits_told=False)


def _working(model: Model, threads: Iterable[ThreadLedger]) -> list[ThreadLedger]:
    """Return the threads without loops that poll, which always run, and without those that the recording slows."""
    others = slowed_processes(model) | {loop.pid for loop in spinning(model)}
    return [thread for thread in threads if thread.pid not in others and not _polls_ring(thread)]


def _polls_ring(thread: ThreadLedger) -> bool:
    """Return whether this is the kernel's thread that looks for work in a ring of io_uring (SQPOLL): it runs as long as
    the program has asked for, whatever there is to do. Others may have its name, but not without code of their own."""
    return bool(_RING_POLLER.fullmatch(thread.comm)) and not thread.ns("cpu.user")


def _limited_pipeline(model: Model) -> Pipeline | None:
    """Return the pipeline with the longest waits whose limit computes."""
    for pipeline in pipelines(model)[0]:
        ready = min((stage.ready for stage in pipeline.workers), default=0.0)
        if worth(model, pipeline.ns) and ready >= cpu_policy.pipeline_stage_ready_share:
            return pipeline
    return None


def _of_pipeline(model: Model, pipeline: Pipeline) -> Finding:
    workers = pipeline.workers
    claim = _stage_claim(workers[0], len(pipeline.stages) - len(workers))
    threads = [stage.thread for stage in workers]
    waited_ns = pipeline.waited_for(workers)
    return _finding(model, threads, pipeline.rows, waited_ns, claim, pipeline.waiting_words, waits_told=True)


def _stage_claim(stage: Stage, others: int) -> str:
    load = _load(stage.thread)
    ready = f" and waits for a CPU {percent(stage.ready - load)}" if stage.ready - load >= 0.01 else ""
    return (
        f"{plain(stage.thread.comm)} runs {percent(load)} of the time{ready}, and the other {others}"
        f" stage{'s' * (others > 1)} of its pipeline wait{'s' * (others == 1)} for it"
    )


def _finding(
    model: Model,
    threads: Sequence[ThreadLedger],  # one, or those of processes that a script runs one after the other
    waiting: Sequence[Row],
    waited_ns: int,
    claim: str,
    beside: str,
    *,
    waits_told: bool,  # by `claim` itself: that others wait for this thread
) -> Finding:
    severity = fault(model, waited_ns) if worth(model, waited_ns) else Severity.INFO
    ran_ns, wall_ns = sum(map(cpu_ns, threads)), sum(thread.wall_ns for thread in threads)
    claims = {account: sum(thread.ns(account) for thread in threads) for account in CPU}
    kernel_part = claims["cpu.kernel"] / ran_ns if ran_ns else 0.0
    samples = CpuSamples(model, *(thread.pid for thread in threads))
    purposes = work(samples) if kernel_part > 0.5 else []
    if kernel_part > 0.5:
        claim += f"; {percent(kernel_part)} of its CPU time is in the kernel{_what_for(purposes)}"
    few = f"only {samples.count} CPU samples of its process, too few to name functions"
    name = _name(threads)
    return conclude(
        model,
        {account: ns for account, ns in claims.items() if ns},
        headline=f"{_headed(threads)} {_does(samples, kernel_part)} all the time",
        claim=claim + (", and others wait for it." if severity is not Severity.INFO and not waits_told else "."),
        mechanism=Mechanism.ONE_THREAD,
        severity=severity,
        doubts=[few if samples.count < cpu_policy.samples_for_function else ""],
        evidence=[
            Evidence(
                f"{duration(ran_ns)} of {duration(wall_ns)} on a CPU; {beside}", ran_ns / wall_ns, "share", "ledger"
            ),
            *_waits_for_it(waiting, waited_ns),
            *_functions(samples),
        ],
        remedies=[
            *remedies(model, samples, purposes),
            fix(
                f"take work off this thread: {cheaper(model, samples)}, hand work to the others in batches, or run"
                " several of them (more CPUs do not help)"
            ),
        ],
        alternatives=["one thread by design", "a busy-poller"],
        verify=part_under(
            model, f"{name} on a CPU", "the window", ran_ns / wall_ns, cpu_policy.single_thread_saturated_share
        ),
    )


def _does(samples: CpuSamples, kernel_part: float) -> str:
    """Return what it does, with the function that most of its samples stand in, if one is known by name."""
    if kernel_part > 0.5:
        return "computes, mostly in the kernel,"
    spot = samples.hot_spot()
    return f"computes in {brief(spot.name)}" if spot and spot.nameless_of is None else "computes"


def _headed(threads: Sequence[ThreadLedger]) -> str:
    name = _name(threads)
    return f"One thread, {name}, is the limit: it" if len(threads) == 1 else f"{name} is the limit: each"


def _name(threads: Sequence[ThreadLedger]) -> str:
    """Return "gzip (4711)", by its tid, or "gzip (9 processes)"."""
    first = threads[0]
    return f"{plain(first.comm)} ({first.tid if len(threads) == 1 else f'{len(threads)} processes'})"


def _waits_for_it(waiting: Sequence[Row], waited_ns: int) -> list[Evidence]:
    if not waited_ns:
        return []
    accounts = ", ".join(sorted({account for account, _ in by_key(waiting)}))
    return [
        Evidence(f"{duration(waited_ns)} others waited for it ({accounts})", float(waited_ns), "ns", "ledger, wakers")
    ]


def _functions(samples: CpuSamples) -> list[Evidence]:
    """Return the hottest functions of its process, in user space or the kernel, where most samples are."""
    hottest = samples.hottest(2, kernel=samples.part(lambda stack: bool(stack.kernel)).share > 0.5)
    return code_evidence(samples, hottest, f" of {samples.count:,} CPU samples of its process")


def _what_for(purposes: Sequence[Work]) -> str:
    """Return the purpose of most of its kernel time, "" if unknown."""
    if not purposes:
        return ""
    most = "mostly" if purposes[0].part.share >= 0.5 else "the largest part"
    return f" ({most} {purposes[0].name})"


def _load(thread: ThreadLedger) -> float:
    return cpu_ns(thread) / thread.wall_ns if thread.wall_ns else 0.0
