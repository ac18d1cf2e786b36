"""WAIT-TIMER-IN-REQUEST: threads sleep while they serve requests, or an event loop delays requests by a timer."""

from collections.abc import Iterable, Mapping, Sequence

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.debuggers import command_for_sleepers
from perfdiag.diagnosis.evidence.fix_checks import part_under
from perfdiag.diagnosis.evidence.idle.sleeps import sleeps_in
from perfdiag.diagnosis.evidence.locks.lock_remedies import waiting_code
from perfdiag.diagnosis.evidence.locks.wait_paths import by_pair
from perfdiag.diagnosis.evidence.requests.calls import or_unknown, without_time
from perfdiag.diagnosis.evidence.requests.polling import Polling, polling
from perfdiag.diagnosis.evidence.requests.server_settings import delays_of_requests
from perfdiag.diagnosis.evidence.requests.timed_out_waits import all_wait_at_once, timed_out
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, requests_policy
from perfdiag.diagnosis.rule import (
    Check,
    Claim,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent, top
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import RequestTime
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import PARKED, TIMER

_SLEEPS = (
    "do not sleep while a request waits, nor while holding a lock; instead of polling with a pause,"
    " wait for the thing itself (an event, a condition, a descriptor)"
)
_LOOPED = "Requests wait until a timer of the server's own fires"
_OWN_POOL = (
    "find out what they wait for: if tasks of a pool wait for other tasks of the same pool, run those in a pool of"
    " their own"
)
_DELAYS = (
    "find what delays requests in code and configuration: a limit on their rate, a pause before a retry, a sleep in a"
    " handler, polling; or a wake-up that does not come, so that only a timeout makes a thread look"
)


@rule(
    "WAIT-TIMER-IN-REQUEST",
    title="Requests wait for a timer of the server",
    accounts=(TIMER, PARKED),
    meaning="The thread that serves a request sleeps on a timer in the middle of it, or waits until its own"
    " timeout; or an event loop keeps the request until a timer fires: a retry with a pause, polling instead of waiting"
    " for the event, a rate limit.",
    measured="Sleep of the serving thread from the arrival of a request to the last byte of its answer, and of the"
    " thread of a pool that wakes an event loop when it has done what a request needs; time on"
    " futexes where no thread was seen to wake a request, so that a timeout ended the wait (if all threads that serve"
    " requests are with one meanwhile, the finding says so: only they may do what they wait for); of event loops,"
    " the time from when the thread left a request, or a part of it unread, until it woke up by time and went on with"
    " it; and of requests that another thread answers than has read them, the last wait of that thread, if a timer"
    " ended it. All that while no call for the request was outstanding.",
    alternatives="An intended sleep (a rate limit, long polling without news); an event that should have come and"
    " did not, such as a free connection of a pool, or a wake-up that another thread got.",
    remedies="Do not sleep while a request waits, nor while holding a lock. Instead of polling with a pause, wait"
    " for the event itself (a condition, a descriptor). Raise a limit on the rate of requests that is too low.",
    verify="wait.timer is under 5 % of request time.",
)
def wait_timer_in_request(model: Model) -> Iterable[Outcome]:
    """Yield a finding if threads sleep for a good part of the requests' time."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        yield without_time(model, "WAIT-TIMER-IN-REQUEST", "no requests were served that could sleep")
        return
    slept_ns, parts = time.accounts.get(TIMER, 0), timed_out(model, time)
    part = (slept_ns + sum(parts.values())) / time.ns
    if part < general_policy.fault_share:
        yield or_unknown(
            time, Check("WAIT-TIMER-IN-REQUEST", f"requests sleep {percent(part)} of their time", part, "share")
        )
        return
    yield _finding(model, time, slept_ns, parts)


def _finding(model: Model, time: RequestTime, slept_ns: int, parts: Mapping[str, int]) -> Finding:
    """Return the finding of sleep, and of waits on futexes, by their key, that only a timeout ended."""
    parked_ns = sum(parts.values())
    ns = slept_ns + parked_ns
    unproven = parked_ns >= general_policy.fault_share * time.ns
    unknown = "it is unknown what they wait for: an event may have failed to come" if unproven else ""
    missing = "wake-ups were missed: a thread may have ended some of those waits" if _missed(model) else ""
    queue = _queue_for_sleepers(model, slept_ns)
    looped = not queue and 2 * (slept_ns - _slept_ns(model)) > ns
    number = all_wait_at_once(model, parts) if 2 * parked_ns > ns else 0
    code = sleeps_in(model, _serving(model)) if slept_ns > parked_ns else ""
    sleep = "sleep, or wait until they time out," if 2 * parked_ns > ns else f"sleep in {code}" if code else "sleep"
    polls = None if looped or number else polling(model, time)
    headline = _LOOPED if looped else f"Threads {sleep} while they serve requests"
    if polls:
        headline = f"Requests wait while threads look every {duration(polls.pause_ns)} whether something is there"
    elif number:
        headline = f"All {number} threads that serve requests wait at once, until their own timeouts"
    elif queue:
        headline = _queue_headline(queue, code)
    claim = f"{headline}: {duration(ns)} of {duration(time.ns)}"
    what = "such waits" if 2 * parked_ns > ns else "sleep"
    evidence = [Evidence(f"{duration(ns // time.count)} of {what} a request, on average", float(ns), "ns", "ledger")]
    if queue:
        evidence = [_queued(queue, slept_ns)]
    if parked_ns:
        claim += f", {duration(parked_ns)} of it in waits that only their own timeout ended"
        evidence.append(Evidence(_parked_text(model, parts), float(parked_ns), "ns", "sched_waking"))
    if polls:
        claim += f"; {polls.what()}"
        evidence += polls.evidence(model.window_ns)
    row_ns = by_pair(model)
    sleeps: dict[Claim, int] = {TIMER: model.ns(TIMER) or slept_ns} if slept_ns else {}
    return conclude(
        model,
        {**sleeps, **{(PARKED, key): row_ns[PARKED, key] for key in parts}},
        headline=headline,
        claim=f"{claim}.",
        mechanism=Mechanism.SLEEP,
        severity=Severity.WARNING,
        best=Confidence.LOW if polls or parked_ns > slept_ns else Confidence.HIGH,
        doubts=[unknown, missing if unproven else "", "it is unknown what threads look for" if polls else ""],
        evidence=evidence,
        remedies=_remedies(model, looped=looped, own_pool=bool(number), polls=polls, code=code, queue=bool(queue)),
        alternatives=_alternatives(polls=bool(polls), unproven=unproven),
        verify=part_under(model, "sleep", "request time", ns / time.ns, general_policy.fault_share),
    )


def _alternatives(*, polls: bool, unproven: bool) -> list[str]:
    return [
        "an intended limit on the rate of requests, or long polling without news",
        *(["pauses between pieces of the work itself"] if polls else []),
        *(["requests that are meant to wait for news"] if unproven else []),
    ]


def _queue_headline(queue: Sequence[ThreadLedger], code: str) -> str:
    where = f" in {code}" if code else ""
    return f"Requests queue for a pool whose {plural(len(queue), 'thread')} sleep{where}"


def _queued(queue: Sequence[ThreadLedger], slept_ns: int) -> Evidence:
    """Return how many requests each sleep of a pool delays."""
    own_ns = sum(thread.ns(TIMER) for thread in queue)
    text = f"its threads slept {duration(own_ns)} in all: each sleep delays {slept_ns / own_ns:.1f} requests on average"
    return Evidence(text, slept_ns / own_ns, "count", "ledger")


def _remedies(
    model: Model, *, looped: bool, own_pool: bool, polls: Polling | None, code: str, queue: bool
) -> list[Remedy]:
    if looped:
        return _delays(model)
    where = [] if code else _where(model)
    if polls:
        return [fix(f"make the work of {polls.busy[0].name} faster; {polls.saved()}"), *where]
    more = [fix("give that pool more threads: those that sleep need no CPU")] if queue else []
    return [*more, fix(_OWN_POOL if own_pool else _SLEEPS), *where]


def _delays(model: Model) -> list[Remedy]:
    """Return what delays requests of an event loop: settings of a known server first."""
    settings = delays_of_requests(model)
    known = [fix(f"look for {settings} in its configuration, and raise or remove them")] if settings else []
    return [*known, fix(_DELAYS)]


def _slept_ns(model: Model) -> int:
    """Return how long threads slept that read requests, or work for these."""
    return sum(thread.ns(TIMER) for thread in model.threads if thread.requests_read or thread.helped)


def _queue_for_sleepers(model: Model, slept_ns: int) -> list[ThreadLedger]:
    """Return the threads of a pool that sleep for requests of an event loop, if more requests wait than are in them:
    the sleep of one is then the wait of several."""
    helpers = [thread for thread in model.threads if thread.helped and thread.ns(TIMER)]
    own_ns = sum(thread.ns(TIMER) for thread in helpers)
    several = slept_ns >= requests_policy.shared_sleep_factor * own_ns
    return helpers if helpers and several and own_ns >= general_policy.fault_share * slept_ns else []


def _serving(model: Model) -> Sequence[ThreadLedger]:
    return [thread for thread in model.threads if thread.requests_read or thread.helped] or model.threads


def _where(model: Model) -> list[Remedy]:
    """Return how to see the code that sleeps, of the thread that slept longest and serves requests, if one does."""
    sleeper = max(_serving(model), key=lambda thread: thread.ns(TIMER), default=None)
    command = command_for_sleepers(model, sleeper.pid) if sleeper else ""
    return [fix(f"see where: {command}")] if command else []


def _missed(model: Model) -> bool:
    return any(model.coverage.lost.get(name) for name in ("wakeups_missing", "because_full", "detail_full"))


def _parked_text(model: Model, parts: Mapping[str, int]) -> str:
    number = f"on {len(parts)} futexes" if len(parts) > 1 else "on a futex"
    code = sums_by_key((name, ns) for key in parts for name, ns in waiting_code(model, PARKED, key).items())
    where = f", in {top(code)} of the sampled waits" if code else ""
    return f"{duration(sum(parts.values()))} blocked {number} where no thread was seen to wake a request{where}"
