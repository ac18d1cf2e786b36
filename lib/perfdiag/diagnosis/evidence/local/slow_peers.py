"""Findings of slow answers by what the process at the other end, on this host, did meanwhile: part of NET-PEER-SLOW,
NET-DNS-SLOW and IPC-PEER-SLOW.
"""

from dataclasses import replace

from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.local.peer_doing import agreeing
from perfdiag.diagnosis.evidence.local.peer_parts import SEVERAL
from perfdiag.diagnosis.evidence.local.peer_work import PeerWork
from perfdiag.diagnosis.evidence.silent_ends import LOOKS_THE_SAME
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import begun, conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Other, Relation
from perfdiag.diagnosis.significance import (
    brief,
    claims_of,
    duration,
    fault,
    percent,
    plain,
    together,
    typical_ns,
    waits,
)
from perfdiag.model.model import Model, Row
from perfdiag.recording.accounts import phrase_of

_SHOWN = 3  # of those who did something, and what
_WORTH_SHOWING = 0.05  # of the waits
_PROBE = "sched_switch"


def idle_evidence(work: PeerWork | None) -> list[Evidence]:
    """Return that the other end itself mostly waited for events meanwhile, if it did: for an answer, or for work."""
    if work is None or 2 * work.idle_ns <= work.ns:
        return []
    who = work.idle.who if work.idle else "the other end"
    text = f"{who} itself waited for events for {percent(work.idle_ns / work.ns)} of them: an answer, or work"
    return [Evidence(text, work.idle_ns / work.ns, "share", _PROBE)]


def slow_by_its_work(
    model: Model,
    rows: list[Row],
    work: PeerWork | None,
    place: str,
    does: str = "",
    *,
    answers: str = "answers",
    may_feed: bool = False,
) -> Finding | None:
    """Return the finding of waits for answers at `place` of which it is known what the other end did; None where it is
    not, where that waited for events itself, or where answers are fast.

    `does`, `answers`: as in `with_work`.
    `may_feed`: what came may be no answers, but one thing after the other that the target acknowledges. Whoever sleeps
    between these is as fast as it wants to be.
    """
    whole = together(rows)
    if work is None or work.is_idle or typical_ns(whole) < network_policy.slow_answer_ns:
        return None
    if may_feed and work.mechanism is Mechanism.SLEEP:
        return None
    found = conclude(
        model,
        claims_of(rows),
        headline="",
        claim=f"{subject(model, begin=True)} waited {duration(whole.sum_ns)} at {place}.",
        mechanism=Mechanism.SLOW,
        severity=fault(model, whole.sum_ns),
        doubts=[LOOKS_THE_SAME if work.mechanism is Mechanism.SLEEP and not model.request_time else ""],
        evidence=[waits(whole, f"waits at {place}")],
        remedies=[],
        verify=shorter(model, f"waits at {place}", typical_ns(whole), network_policy.slow_answer_ns),
    )
    return with_work(found, work, place, does, answers=answers)


def had_nothing_to_answer(model: Model, work: PeerWork | None) -> bool:
    """Return whether who answers at the other end itself waited for events in nearly all of these waits, and nobody
    asks the target meanwhile: a queue without jobs looks so, and a peer that waits for another one."""
    return work is not None and work.had_nothing and model.request_time is None


def meanwhile(work: PeerWork | None) -> str:
    """Return what the other end did, "cache (77) sleeps in tick"; "" where that is not known."""
    if work is None or (work.is_idle and not work.had_nothing):
        return ""
    return work.waits_itself if work.had_nothing else work.sentence


def with_work(
    found: Finding, work: PeerWork | None, place: str, does: str = "", *, answers: str = "answers"
) -> Finding:
    """Return the finding of slow answers at `place` with what the other end did meanwhile; as it is where that is not
    known, or where that waited for events itself.

    `does`: what that process does slowly, where it is the subject and not the place: "answers slowly".
    `answers`: as it goes with the place, of several peers "answer".
    """
    if work is None or work.is_idle:
        return found
    seen = [
        Evidence(
            f"{part.who}: {phrase_of(part.root)} {percent(part.ns / work.ns)} of that",
            part.ns / work.ns,
            "share",
            _PROBE,
        )
        for part in work.parts[:_SHOWN]
        if part.ns >= _WORTH_SHOWING * work.ns
    ]
    return replace(
        found,
        headline=_does_slowly(work, does) if does else begun(f"{brief(place)} {answers} slowly: {work.sentence}"),
        claim=f"{found.claim} Meanwhile {work.sentence}.",
        mechanism=work.mechanism,
        evidence=[*found.evidence, *seen],
        remedies=[work.remedy, *found.remedies],
        others=[Other(each.pid, plain(each.comm), Relation.PEER) for each in work.others],
    )


def _does_slowly(work: PeerWork, does: str) -> str:
    if work.subject:
        return f"{work.name} {does}: {work.says('it')}"
    who = SEVERAL.capitalize() if work.name == SEVERAL else work.name
    return f"{who} {agreeing(does, None)}: {work.says('they')}"
