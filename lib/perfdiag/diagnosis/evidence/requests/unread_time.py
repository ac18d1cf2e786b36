"""Requests that have arrived and are not read: for how long, and whether that is much of their time."""

from collections.abc import Collection

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.requests.calls import spread, without_time
from perfdiag.diagnosis.evidence.requests.server_settings import limit_of_requests
from perfdiag.diagnosis.policy import general_policy, requests_policy
from perfdiag.diagnosis.rule import Check, Claim, Evidence, Silence
from perfdiag.diagnosis.significance import duration, percent
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Latencies, together
from perfdiag.model.requests.request_time import QUEUED, RequestTime
from perfdiag.model.requests.serving_threads import Servers
from perfdiag.recording.accounts import phrase_of

SHOWN = 3  # accounts of readers


def unread_ns(time: RequestTime, part: float) -> int:
    """Return for how long requests waited to be read in a `part` of all that time, without what findings of their own
    have of it."""
    left = 1 - sum(time.met.passed_on.values())
    return round(time.accounts.get(QUEUED, 0) * min(1.0, part / left)) if left > 0 else 0


def not_accepted_ns(model: Model) -> int:
    """Return for how long requests waited while their reader was idle and did not listen to them; 0 if that is little
    of their time, or not known."""
    time = model.request_time
    if time is None or not time.by.followed:
        return 0
    ns = unread_ns(time, time.met.unheard)
    return ns if is_felt(model, time, ns) else 0


def find_limit(model: Model) -> str:
    """Return the remedy where a limit keeps an idle reader from listening: with its name, where the server is known."""
    known = limit_of_requests(model)
    anywhere = (
        "find the limit in the configuration (maxconn, worker_connections, MaxRequestWorkers, open files), raise it"
    )
    limit = f"raise {known}" if known else anywhere
    return f"{limit} if what it protects can take more; else shorten what fills it"


def hold_readers(model: Model, accounts: Collection[str]) -> bool:
    """Return whether requests lie unread because their readers are in waits of these accounts that are part of no
    request: a reader waits in a timer, or between two requests, and all requests wait for the reader."""
    time = model.request_time
    if time is None or not time.by.followed:
        return False
    served = [each.line for each in model.exchanges if each.served]
    unread = _unread_meanwhile_ns(model, time, accounts)
    inside = sum(part.sum_ns for line in served for part in line.accounts if part.account in accounts)
    inside += sum(line.peers_ns for line in served)
    return unread >= general_policy.fault_share * time.ns and inside < requests_policy.part_of_requests_share * unread


def hold_loops(model: Model, accounts: Collection[str]) -> bool:
    """Return whether requests wait because the event loops that serve them are themselves in waits of these accounts:
    in calls that block, where they should wait for whatever comes first."""
    time = model.request_time
    if time is None or not time.by.loop:
        return False
    loops_ns = sum(loop.ns(*accounts) for loop in time.by.loops)
    behind_ns = behind_loops_ns(model, accounts)
    return behind_ns >= general_policy.fault_share * time.ns and 2 * loops_ns >= model.ns(*accounts)


def behind_loops_ns(model: Model, accounts: Collection[str]) -> float:
    """Return for how long requests waited behind event loops that were in waits of these accounts: unread, or read
    before, where all that wait with a thread have its time and only one of them asked for that."""
    time = model.request_time
    if time is None:
        return 0.0
    inside = sum(
        part.sum_ns
        for each in model.exchanges
        if each.served
        for part in each.line.accounts
        if part.account in accounts
    )
    several = max(0, inside - sum(loop.ns(*accounts) for loop in time.by.loops))
    return _unread_meanwhile_ns(model, time, accounts) + several


def _unread_meanwhile_ns(model: Model, time: RequestTime, accounts: Collection[str]) -> float:
    """Return for how long requests lay unread while their readers were in these accounts, which have findings."""
    passed_on = sum(time.met.passed_on.get(account, 0) for account in accounts)
    return passed_on * sum(each.line.read_delay_ns for each in model.exchanges if each.served)


def queue_claims(time: RequestTime, *, taken: bool) -> dict[Claim, int]:
    """Return the claims on the time requests waited to be read, by what their readers did; `taken`: only if they served
    other requests."""
    return sums_by_key(
        ((QUEUED, reader.account), ns) for reader, ns in time.queued.items() if (reader.taken or not taken) and ns
    )


def followed_time(model: Model, id: str) -> RequestTime | Check | Silence:
    """Return the time of requests, if what their readers did before they read them is known; else what rule `id` says
    instead."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        return without_time(model, id, "no requests were served")
    return time if time.by.followed else _not_followed(id, time)


def _not_followed(id: str, time: RequestTime) -> Check | Silence:
    """Return the silence of rule `id` on a recording without readers' timelines."""
    queued = time.accounts.get(QUEUED, 0)
    if queued < general_policy.fault_share * time.ns:
        return hardly_unread(id, time, queued)
    reason = "this recording does not show what the readers of requests did before they read them"
    return Silence(id, reason, "record again with this version of perfdiag")


def delays_of(model: Model) -> Latencies:
    """Return how long requests had waited when they were read, of all names together."""
    return together(each.read_delay for each in model.exchanges if each.served)


def is_held_up(model: Model) -> bool:
    """Return whether delays are more than wake-ups: half of their time is in longer ones, or some requests are never
    read."""
    oldest_ns = max((line.oldest_ns for line in model.requests_awaited), default=0)
    return delays_of(model).typical_ns() >= requests_policy.held_up_ns or oldest_ns >= requests_policy.held_up_ns


def is_felt(model: Model, time: RequestTime, ns: int) -> bool:
    """Return whether that part of the time in which requests waited to be read is a fault: it is much of theirs, and
    more than wake-ups."""
    return ns >= general_policy.fault_share * time.ns and is_held_up(model)


def hardly_unread(id: str, time: RequestTime, ns: int) -> Check:
    """Return the check of rule `id`, with how long requests waited for what it looks at."""
    return Check(
        id,
        f"requests wait {duration(ns)} to be read for this reason, {percent(ns / time.ns)} of their time",
        ns / time.ns,
        "share",
    )


def meanwhile(by: Servers) -> Evidence:
    """Return what the readers did before they read the requests, the unknown part, and the error."""
    met = by.met
    names = sorted(met.others, key=lambda name: -met.others[name])
    parts = [(phrase_of(name), met.others[name]) for name in names]
    parts += [("what has a finding of its own", sum(met.passed_on.values())), ("idle", met.unheard)]
    worth = [f"{name} {percent(part)}" for name, part in parts if part >= general_policy.worth_share]
    did = first_of([*worth[:SHOWN], f"unknown {percent(met.unknown)}", *worth[SHOWN:]], SHOWN + 1)
    told = f"meanwhile the reader: {did}; {percent(met.taken)} (+-{percent(by.error)}) of that time for other requests"
    return Evidence(told, met.taken, "share", "lines of time", by.error + met.unknown)


def read_after(delays: Latencies) -> Evidence:
    """Return the delays as evidence."""
    if not delays.count:
        return Evidence("no request was read", 0.0, "count", "sockets")
    text = f"{delays.count:,} requests waited to be read: {spread(delays)}"
    return Evidence(text, float(delays.sum_ns), "ns", "sockets")
