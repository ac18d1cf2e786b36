"""Processes of the target that wait for each other at pipes and unix sockets: which one the others wait for."""

from collections.abc import Mapping, Sequence

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.debuggers import with_stacks
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.pipelines import UNIX, Pipeline, Stage
from perfdiag.diagnosis.evidence.questions import calls_to, may_acknowledge, part_that_writes
from perfdiag.diagnosis.evidence.stops import STOPPED, who_and_remedy
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, local_policy, network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Other, Relation, Remedy, Severity
from perfdiag.diagnosis.significance import (
    by_key,
    claims_of,
    duration,
    fault,
    fix,
    plain,
    together,
    top,
    total_ns,
    typical_ns,
    waits,
)
from perfdiag.model.model import Model, Row
from perfdiag.recording.accounts import PIPE, Kind, kind_of

ASLEEP = "wait.timer"


def inside(model: Model, pipeline: Pipeline) -> Finding:
    """Return the finding on one pipeline: a fault only if a stage sleeps on a timer."""
    severity, claim, remedy, mechanism, headline = _judgement(model, pipeline)
    return conclude(
        model,
        claims_of(pipeline.rows),
        headline=headline,
        claim=claim,
        mechanism=mechanism,
        severity=severity,
        evidence=[
            waits(together(pipeline.rows), f"waits inside {subject(model)}"),
            *(_stage_evidence(pipeline) if pipeline.works else _ended_inside(model, pipeline)),
        ],
        remedies=[remedy],
        verify=time_under(model, *dict.fromkeys(row.account for row in pipeline.rows)),
        others=_others(pipeline),
        inside=True,
    )


def _judgement(model: Model, pipeline: Pipeline) -> tuple[Severity, str, Remedy, Mechanism, str]:
    """Return the severity, sentences and remedy for processes of the target that wait for each other."""
    works = pipeline.works
    if works is None and mostly_sleeps(_ends(model, pipeline.rows)):
        return _of_sleepers(model, pipeline)
    if works is None:
        return (
            Severity.INFO,
            f"{_members(pipeline)} of {subject(model)} wait for each other at pipes or sockets for"
            f" {duration(pipeline.ns)}. None of them limits the others; other findings show what the working one"
            " does.",
            fix("read the findings of the threads that are waited for"),
            Mechanism.OTHERS,
            f"{_members(pipeline)} wait for each other at pipes or sockets; none limits the others",
        )
    who, others = _who(pipeline, works), pipeline.waited_for(pipeline.workers)
    waited = f"Processes of {subject(model)} wait {duration(others)} at pipes or sockets"
    if _stopped(works):
        by, remedy = who_and_remedy(model, [works.thread.pid])
        return (
            Severity.INFO,
            f"{waited}, and nobody wakes them; {who} of the same target was stopped meanwhile ({_does(works)}).",
            fix(f"{by} stopped it: {remedy}"),
            Mechanism.STOPPED,
            f"Processes wait at pipes or sockets for {who}, which was stopped",
        )
    idle = _idles(works)
    if idle == ASLEEP:
        return _of_a_sleeper(model, pipeline, works, waited)
    if idle:
        return (
            Severity.INFO,
            f"{waited} for {who}, which itself mostly waits ({idle}).",
            fix(f"see what {who} waits for: perfdiag explain {idle}"),
            Mechanism.OTHERS,
            f"Processes wait at pipes or sockets for {who}, which itself waits",
        )
    return (
        Severity.INFO,
        f"{waited} for {who}, the stage that works ({_does(works)}).",
        fix(f"make {who} faster, or run several of it: other findings show where its time goes"),
        Mechanism.OTHERS,
        f"Processes wait at pipes or sockets for {who}, which works",
    )


def _who(pipeline: Pipeline, works: Stage) -> str:
    """Return "gzip (4711)", or "gzip (9 processes)" where a script runs the pipeline again and again."""
    count = len(pipeline.workers)
    return f"{plain(works.thread.comm)} ({works.thread.pid if count == 1 else f'{count} processes'})"


def _of_a_sleeper(
    model: Model, pipeline: Pipeline, sleeper: Stage, waited: str
) -> tuple[Severity, str, Remedy, Mechanism, str]:
    """Return the same if the others wait for a stage that sleeps: a working stage has findings of its own, a sleep has
    none. A sleeper delays only those that have asked it for something."""
    who = _who(pipeline, sleeper)
    awaited, asked_ns = f"Processes wait at pipes or sockets for {who}", _asked_ns(model, pipeline, sleeper)
    shows = with_stacks(model, "shows where it sleeps")
    shorten = fix(f"shorten the sleep of {who}, or let it wait for the event itself; {shows}")
    if asked_ns:
        slow = typical_ns(together(pipeline.rows)) >= network_policy.slow_answer_ns
        claim = f"{waited} for {who}, which sleeps on a timer ({ASLEEP})."
        severity = fault(model, asked_ns) if slow else Severity.INFO
        return severity, claim, shorten, Mechanism.SLEEP, f"{awaited}, which sleeps"
    if not any(row.pid == sleeper.thread.pid for row in pipeline.rows):
        claim = (
            f"{waited} for {who}, which sends at intervals: it sleeps on a timer in between ({ASLEEP}), and nothing"
            " shows that anybody asked it for anything."
        )
        sooner = fix(f"none is needed if that is its work; to get data sooner, {shorten.text}")
        return Severity.INFO, claim, sooner, Mechanism.OTHERS, f"{awaited}, which sends at intervals"
    claim = (
        f"{waited} for {who}, which sleeps on a timer ({ASLEEP}) and waits for them in turn. It is unknown whether"
        " they wait for work or for an answer."
    )
    headline = f"{awaited}, which sleeps: for work or for an answer"
    return Severity.INFO, claim, shorten, Mechanism.UNDETERMINED, headline


def _of_sleepers(model: Model, pipeline: Pipeline) -> tuple[Severity, str, Remedy, Mechanism, str]:
    """Return the same where several share the work, or threads of one process, and those that end the waits sleep."""
    members = _members(pipeline)
    claim = (
        f"{members} of {subject(model)} wait for each other at pipes or sockets for {duration(pipeline.ns)}, and those"
        f" that end the waits mostly sleep on a timer ({ASLEEP}). It is unknown whether the others wait for work or for"
        " an answer."
    )
    shorten = fix(f"shorten the sleep, or wait for the event itself; {with_stacks(model, 'shows where they sleep')}")
    headline = f"{members} wait at pipes or sockets for others that sleep: for work or for an answer"
    return Severity.INFO, claim, shorten, Mechanism.UNDETERMINED, headline


def _asked_ns(model: Model, pipeline: Pipeline, sleeper: Stage) -> int:
    """Return how long the others waited for answers, or for room to write; all other waits may be for work."""
    others = by_key(row for row in pipeline.rows if row.pid != sleeper.thread.pid)
    asked_ns = sum(total_ns(rows) for rows in others.values() if _have_asked(model, rows))
    time = model.request_time
    in_requests_ns = sum(time.accounts.get(name, 0) for name in (PIPE, UNIX)) if time else 0
    return min(sum(map(total_ns, others.values())), max(asked_ns, in_requests_ns))


def _have_asked(model: Model, rows: Sequence[Row]) -> bool:
    """Return whether waits at one pipe or socket are for an answer to a call, or for room to write."""
    writing, _ = part_that_writes(model, rows)
    calls = calls_to(model, {row.key for row in rows})
    return (writing or 0) >= local_policy.awaited_member_share or (bool(calls) and not may_acknowledge(model, calls))


def _others(pipeline: Pipeline) -> list[Other]:
    works = pipeline.works
    return [Other(works.thread.pid, plain(works.thread.comm), Relation.PEER)] if works else []


def _members(pipeline: Pipeline) -> str:
    return "Processes" if len({row.pid for row in pipeline.rows}) > 1 or len(pipeline.stages) > 1 else "Threads"


def _ended_inside(model: Model, pipeline: Pipeline) -> list[Evidence]:
    """Return what the threads that end the waits do, besides waiting themselves."""
    sums = _ends(model, pipeline.rows)
    if not sums:
        return []
    return [Evidence(f"threads that end the waits: {top(sums)}", float(sum(sums.values())), "ns", "ledger")]


def _ends(model: Model, rows: Sequence[Row]) -> dict[str, int]:
    """Return what the threads that end most of the waiting do, by account, besides waiting themselves."""
    least_ns = general_policy.fault_share * total_ns(rows)
    tids = {row.waker_tid for row in rows if row.distribution.sum_ns >= least_ns}
    return sums_by_key(
        (name, total.ns)
        for thread in model.threads
        if thread.tid and thread.tid in tids
        for name, total in thread.accounts.items()
        if name not in (PIPE, UNIX)
    )


def mostly_sleeps(sums: Mapping[str, int]) -> bool:
    """Return whether most of this time was spent asleep on a timer."""
    return 2 * sums.get(ASLEEP, 0) > sum(sums.values())


def _stage_evidence(pipeline: Pipeline) -> list[Evidence]:
    return [Evidence(pipeline.waiting_words, pipeline.stages[0].waiting, "share", "ledger")]


def _stopped(stage: Stage) -> bool:
    accounts = stage.thread.accounts
    return STOPPED in accounts and 2 * accounts[STOPPED].ns >= stage.thread.wall_ns


def _idles(stage: Stage) -> str:
    """Return the idle account in which a stage spends most of the time that it does not wait for others, or ""."""
    own = {name: total.ns for name, total in stage.thread.accounts.items() if name not in (PIPE, UNIX)}
    longest = max(own, key=lambda name: own[name], default="")
    idle = kind_of(longest) is not Kind.LATENCY
    return longest if idle and 2 * own[longest] > sum(own.values()) else ""


def _does(stage: Stage) -> str:
    """Return what the time of a stage goes to, besides waiting for other stages."""
    return top({name: total.ns for name, total in stage.thread.accounts.items() if name not in (PIPE, UNIX)})
