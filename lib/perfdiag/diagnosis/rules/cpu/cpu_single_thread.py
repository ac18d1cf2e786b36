"""A rule on one thread that cannot get any faster while the others have nothing to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.kernel_work import Work, remedies, work
from perfdiag.diagnosis.evidence.cpu.spinning import spinning
from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, FUNCTIONS, CpuSamples, words
from perfdiag.diagnosis.evidence.cpu.time_split import cheaper
from perfdiag.diagnosis.evidence.pipelines import Pipeline, Stage, pipelines
from perfdiag.diagnosis.evidence.target import CPU, again, cpu_ns, usable_cpus
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
from perfdiag.diagnosis.significance import by_key, duration, fault, fix, judged, percent, plain, total_ns, worth
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger

# A thread on its CPU for nine tenths of its life has no room for more work.
SATURATED = 0.9
# A second thread that runs half of the time shows that the work is shared after all.
OTHERS = 0.5
# Shorter lives say nothing: every program starts with a burst on one thread.
OBSERVED_NS = 1_000_000_000
# The stage of a pipeline that the others wait for is its limit when this much of its life it ran or was ready to.
STAGE_READY = 0.7
# Waits of others that this thread ended: locks it held, pipes and sockets it had to serve.
DEPENDENT = ("lock.futex", "lock.file", "lock.kernel", "ipc.pipe", "ipc.unix")


@rule(
    "CPU-SINGLE-THREAD",
    title="One thread is saturated while the others have nothing to do",
    accounts=CPU,
    meaning="One thread runs on its CPU nearly all the time, the others wait or are idle, and CPUs are free: more CPUs"
    " do not help, this thread is the limit. A fault when others are seen waiting for what it holds or serves;"
    " otherwise profile, because a batch job may be meant to be like that.",
    measured="CPU time against wall time of each thread seen for at least a second, over the whole window; joined with"
    " waits for locks, pipes and unix sockets that this thread ended (waker, majority by object) and with the"
    " sampled CPU stacks of its process (recordings fold those of its threads). Of processes that wait for each other"
    " at pipes it is the stage the others wait for, if for seven tenths of the time it ran or was ready to run.",
    alternatives="A program that is single-threaded on purpose (Redis, Node.js, an interpreter with a global lock); a"
    " busy-poller, whose thread is always full by design.",
    remedies="Take work away from that thread: cheaper functions, batches, or several of it.",
    verify="Measure again: the thread runs less than nine tenths of the time at the same work, or more work is done.",
    beats=("CPU-BOUND", "CPU-KERNEL-HEAVY"),
    one_process=True,
)
def single_thread(model: Model) -> Iterable[Outcome]:
    """Join CPU time by thread with the waits that the busiest thread ended."""
    folded = sum(cpu_ns(thread) for thread in model.threads if not thread.tid)
    alone = [thread for thread in model.threads if thread.tid]
    needed = min(OBSERVED_NS, round(SATURATED * model.window_ns))
    running = sorted((t for t in alone if t.wall_ns >= needed), key=_load, reverse=True)
    if not worth(model, model.ns(*CPU)):
        return
    if folded > model.ns(*CPU) / 2:
        yield Silence(
            "CPU-SINGLE-THREAD",
            f"{duration(folded)} of CPU time was used by threads that ended and are known only together",
            f"watch shorter: {again(model, '--duration 2')}",
        )
        return
    cpus = usable_cpus(model)
    limit = _limiting_stage(model)
    if limit and cpus > 1:
        pipeline, stage = limit
        claim, beside = _stage_claim(stage, len(pipeline.stages) - 1), pipeline.waiting_words
        yield _finding(model, stage.thread, pipeline.rows, pipeline.waited_for(stage), claim, beside, waits_told=True)
        return
    asking = {loop.pid for loop in spinning(model)}
    running = [thread for thread in running if thread.pid not in asking]  # who only asks for work is full by design
    saturated = [thread for thread in running if _load(thread) >= SATURATED]
    second = max((_load(thread) for thread in running if _load(thread) < SATURATED), default=0.0)
    if len(saturated) != 1 or len(alone) < 2 or second > OTHERS or cpus < 2:
        if running and len(alone) > 1:
            name, load = plain(running[0].comm), _load(running[0])
            yield Check(
                "CPU-SINGLE-THREAD",
                f"busiest thread {name} runs {percent(load)} of the time, next"
                f" {percent(_load(running[1]) if len(running) > 1 else 0.0)}, {cpus} CPUs",
                load,
                "share",
                large=load >= SATURATED,
            )
        return
    thread, others = saturated[0], len(alone) - 1
    waiting = [
        row
        for row in model.rows_of(*DEPENDENT)
        if row.waker_tid == thread.tid and 2 * row.waker_count >= row.distribution.count
    ]
    idle = f"the other {others} wait or sleep" if others > 1 else "the only other thread waits or sleeps"
    claim = (
        f"{plain(thread.comm)} runs {percent(_load(thread))} of the time while {idle} and"
        f" {cpus} CPUs are there: this one thread is the limit"
    )
    beside = f"{f'the busiest of {others} others' if others > 1 else 'the other'} ran {percent(second)} of the time"
    yield _finding(model, thread, waiting, total_ns(waiting), claim, beside, waits_told=False)


def _limiting_stage(model: Model) -> tuple[Pipeline, Stage] | None:
    """Return the pipeline with the longest waits whose limit computes, and that stage of it."""
    for pipeline in pipelines(model)[0]:
        stage = pipeline.works
        if worth(model, pipeline.ns) and stage and stage.ready >= STAGE_READY:
            return pipeline, stage
    return None


def _stage_claim(stage: Stage, others: int) -> str:
    load = _load(stage.thread)
    ready = f" and is ready to run for {percent(stage.ready - load)} more" if stage.ready - load >= 0.01 else ""
    return (
        f"{plain(stage.thread.comm)} runs {percent(load)} of the time{ready}, and the other {others}"
        f" stage{'s' * (others > 1)} of its pipeline wait{'s' * (others == 1)} for it: this stage is the limit"
    )


def _finding(
    model: Model,
    thread: ThreadLedger,
    waiting: Sequence[Row],
    waited_ns: int,
    claim: str,
    beside: str,
    *,
    waits_told: bool,  # by `claim` itself: that others wait for this thread
) -> Finding:
    severity = fault(model, waited_ns) if worth(model, waited_ns) else Severity.INFO
    ran_ns, name = cpu_ns(thread), plain(thread.comm)
    evidence = [
        Evidence(
            f"{name} (tid {thread.tid}) ran {duration(ran_ns)} of {duration(thread.wall_ns)}; {beside}",
            ran_ns / thread.wall_ns,
            "share",
            "ledger",
        )
    ]
    if waited_ns:
        accounts = ", ".join(sorted({account for account, _ in by_key(waiting)}))
        ended = f"others waited {duration(waited_ns)} for what it ended ({accounts})"
        evidence.append(Evidence(ended, float(waited_ns), "ns", "ledger, wakers"))
    samples = CpuSamples(model, thread.pid)
    evidence += _functions(samples)
    kernel_part = thread.ns("cpu.kernel") / ran_ns if ran_ns else 0.0
    purposes = work(samples) if kernel_part > 0.5 else []
    if kernel_part > 0.5:
        claim += f", {percent(kernel_part)} of its CPU time in the kernel{_what_for(purposes)}"
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            ""
            if samples.count >= ENOUGH
            else f"only {samples.count} CPU samples of its process: functions are not named"
        ],
    )
    return Finding(
        "CPU-SINGLE-THREAD",
        severity,
        confidence,
        claim + (", and others wait for it." if severity is not Severity.INFO and not waits_told else "."),
        {account: thread.accounts[account].ns for account in CPU if account in thread.accounts},
        evidence,
        [
            *remedies(model, purposes),
            fix(
                f"take work off this thread: {cheaper(samples)}, hand work to the others in batches, or run several of"
                " it (more CPUs alone change nothing)"
            ),
        ],
        alternatives=["single-threaded on purpose", "a busy-poller, whose thread is full by design"],
        limits=limits,
        verify=f"{again(model)}: time on the CPU of {name}",
        headline=f"One thread, {name} ({thread.tid}), is the limit: it never stops"
        f" {'running kernel code' if kernel_part > 0.5 else 'computing'}",
        mechanism=Mechanism.ONE_THREAD,
    )


def _functions(samples: CpuSamples) -> list[Evidence]:
    """Return the functions its process runs in, of the side that has most of the samples."""
    if samples.count < ENOUGH:
        return []
    hottest = samples.hottest(2, kernel=samples.part(lambda stack: bool(stack.kernel)).share > 0.5)
    text = f"its process runs {words(hottest)} of its {samples.count:,} CPU samples"
    return [
        Evidence(text, hottest[0][1].share, "share", FUNCTIONS, error=hottest[0][1].error, kind=EvidenceKind.FUNCTIONS)
    ]


def _what_for(purposes: Sequence[Work]) -> str:
    """Return what most of a full thread's time in the kernel is for, "" where that is not known."""
    if not purposes:
        return ""
    most = "mostly" if purposes[0].part.share >= 0.5 else "the largest part"
    return f" ({most} {purposes[0].name})"


def _load(thread: ThreadLedger) -> float:
    return cpu_ns(thread) / thread.wall_ns if thread.wall_ns else 0.0


__all__ = ["single_thread"]
