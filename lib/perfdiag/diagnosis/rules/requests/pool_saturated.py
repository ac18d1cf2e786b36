"""POOL-SATURATED: all workers are busy while requests wait to be read."""

from collections.abc import Iterable

from perfdiag.common.units import plural, rate
from perfdiag.diagnosis.evidence.cpu.main_work import main_work
from perfdiag.diagnosis.evidence.cpu.stack_samples import SAMPLED, CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import read_in_time
from perfdiag.diagnosis.evidence.locks.lock_holders import SLEEP
from perfdiag.diagnosis.evidence.requests.pool_size import pool_size
from perfdiag.diagnosis.evidence.requests.typical_requests import taken_ns
from perfdiag.diagnosis.evidence.requests.unread_time import (
    delays_of,
    followed_time,
    hardly_unread,
    is_felt,
    meanwhile,
    queue_claims,
    read_after,
    unread_ns,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import PEERS, QUEUED, RequestTime
from perfdiag.model.requests.unread_requests import BOUND
from perfdiag.recording.accounts import phrase_of
from perfdiag.recording.levels import TOLD_BELOW, told_as

MOSTLY_BOUND = 0.5  # of the time in which requests wait: less is said behind what keeps workers longer
CHEAPER = fix("make their computing cheaper; more workers only share the CPUs, unless CPUs are idle")


@rule(
    "POOL-SATURATED",
    title="All workers are busy while requests wait",
    accounts=(QUEUED,),
    meaning="Requests have arrived, in accepted connections or in the queue of the listening socket, but all"
    " threads or processes that could read them are serving others, and nearly every request takes what these take."
    " If a few requests that take far longer hold the workers, the cause of that stands first.",
    measured="Time from a request's first byte in the socket until it was read, as far as the reading thread served"
    " another request or connection meanwhile. Its time on a slow disk, behind a lock or with slow clients"
    " belongs to those findings: another worker would have waited there, too.",
    alternatives="The workers wait for something slow: more workers then only hide the cause.",
    remedies="Add workers, if what they wait for can take more; else make that faster.",
    verify="Requests are read within 20 ms.",
    whole=True,
)
def pool_saturated(model: Model) -> Iterable[Outcome]:
    """Yield a finding if all workers of a server are busy."""
    time = followed_time(model, "POOL-SATURATED")
    if not isinstance(time, RequestTime):
        yield time
        return
    if time.by.loop:
        yield Check("POOL-SATURATED", "no workers that serve requests were seen", 0.0, "count")
        return
    met = time.met
    queued, delays = unread_ns(time, met.taken), delays_of(model)
    if not is_felt(model, time, queued):
        yield hardly_unread("POOL-SATURATED", time, queued)
        return
    workers, work = _workers(model), None
    does = max((name for name in met.others if name != BOUND), key=lambda name: met.others[name], default="")
    busy = f", mostly {phrase_of(does)}" if does else ""
    more = _remedy(does)
    headline = f"{workers} busy{busy}; requests wait to be read"
    computing = sum(met.others.get(name, 0.0) for name in SAMPLED)
    if computing > met.taken / 2:
        work = main_work(model, CpuSamples(model))
        doing = f", mostly {work.where}" if work else ""
        headline = f"{workers} busy{doing or ', computing'}; requests wait"
        busy = doing or busy
        more = work.remedy if work and work.remedy else CHEAPER
    bound = met.others.get(BOUND, 0.0) / met.taken
    if bound >= requests_policy.bound_workers_share:
        if bound >= MOSTLY_BOUND:
            headline = f"{workers} held by clients that say nothing; requests wait to be read"
        busy = f", {percent(bound)} of that time with silent keep-alive connections"
        more = fix("close silent connections sooner (KeepAliveTimeout), or serve them by events; add workers")
    yield conclude(
        model,
        queue_claims(time, taken=True),
        headline=headline,
        claim=f"{workers} busy{busy}. Requests that have arrived wait up to {duration(delays.max_ns)} to be read.",
        mechanism=Mechanism.BUSY,
        severity=Severity.WARNING,
        evidence=[
            read_after(delays),
            *_served(model),
            meanwhile(time.by),
            *_at_once(model),
            *([work.evidence] if work else []),
        ],
        remedies=[more],
        alternatives=[f"workers wait for something slow ({phrase_of(does)})"] if does in (PEERS, "net.receive") else [],
        verify=read_in_time(model),
    )


def _remedy(does: str) -> Remedy:
    """Return what to do about workers that mostly wait: they are too few for how long that takes."""
    if does == SLEEP:
        return fix("do not sleep while a worker serves a request; or add workers, because sleeping ones need no CPU")
    return fix("shorten what keeps the workers busy; or add workers, if what they wait for can take more")


def _served(model: Model) -> list[Evidence]:
    """Return how long requests take once they are read, and how many the workers can answer in that time."""
    served = [each for each in model.exchanges if each.served and each.line.count]
    count, ns = sum(each.line.count for each in served), sum(map(taken_ns, served))
    readers = sum(thread.threads for thread in model.threads if thread.requests_read)
    if not count or not ns or not readers:
        return []
    each_ns = ns / count
    at_most = f"{plural(readers, 'worker')} can answer {rate(readers * 1e9 / each_ns)}"
    text = f"once read, a request takes {duration(each_ns)} on average: {at_most}"
    return [Evidence(text, each_ns, "ns", "sockets")]


def _workers(model: Model) -> str:
    """Return "All 4 workers are", or without the number if that is not known."""
    number = pool_size(model)
    if number == 1:
        return "The only worker is"
    return "Both workers are" if number == 2 else f"All {number} workers are" if number else "All workers are"


def _at_once(model: Model) -> list[Evidence]:
    """Return how many requests were in progress at most, and for how long."""
    inside = model.requests_inside
    if inside is None or not 0 < inside.most < TOLD_BELOW:
        return []
    most = told_as(inside.most)
    whole_ns = sum(each.sum_ns for each in inside.levels)
    top_ns = sum(each.sum_ns for each in inside.levels if each.level == most)
    part = top_ns / whole_ns if whole_ns else 0.0
    text = f"at most {inside.most} requests in progress at once, for {percent(part)} of the time with any request"
    return [Evidence(text, float(inside.most), "count", "sockets")]
