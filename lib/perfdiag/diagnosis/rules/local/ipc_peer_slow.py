"""IPC-PEER-SLOW: threads wait at a pipe or a unix socket for a local process."""

from collections.abc import Iterable

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.fix_checks import less, shorter
from perfdiag.diagnosis.evidence.local.awaited_members import ASLEEP, inside, mostly_sleeps
from perfdiag.diagnosis.evidence.local.other_ends import (
    OTHER_END,
    does_slowly,
    how_to_measure,
    other_end,
    peers,
    place,
    spot_of,
    waker_of,
)
from perfdiag.diagnosis.evidence.local.peer_work import PeerWork, of_waits
from perfdiag.diagnosis.evidence.local.slow_peers import had_nothing_to_answer, meanwhile, slow_by_its_work
from perfdiag.diagnosis.evidence.pipelines import UNIX, pipelines
from perfdiag.diagnosis.evidence.questions import calls_to, may_acknowledge, part_that_writes
from perfdiag.diagnosis.evidence.requests.blocking_calls import Holding, holding
from perfdiag.diagnosis.evidence.requests.fast_answers import is_fast_server
from perfdiag.diagnosis.evidence.silent_ends import LOOKS_THE_SAME, nothing_came, silent
from perfdiag.diagnosis.evidence.target import cpu_ns, subject
from perfdiag.diagnosis.evidence.waits_in_vain import never_answered
from perfdiag.diagnosis.frame import begun, conclude
from perfdiag.diagnosis.policy import local_policy, network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import (
    about,
    brief,
    claims_of,
    duration,
    fault,
    fine,
    fix,
    still_waiting,
    together,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.waits.unix_ends import maker_pid
from perfdiag.recording.accounts import PIPE
from perfdiag.recording.distribution import Distribution


@rule(
    "IPC-PEER-SLOW",
    title="Another local process answers slowly",
    accounts=(PIPE, UNIX),
    meaning="Threads wait at a pipe or a unix socket until another process of this host writes, or reads from a"
    " full pipe. If that process belongs to the target, this report covers it, too. Nothing asks the writer"
    " of a pipe for data: it may be slow or have nothing to write.",
    measured="Waits at pipes and unix sockets by object, with the thread that ended them (sched_waking), and whether"
    " they began in calls that write. Slow is 10 ms, for the wait in which half of the time was spent; a"
    " writer that waits for room always waits for a slow reader. Among processes of the target, the"
    " working stage is the one that waits at most a quarter of its time and half as much as any other; it"
    " is a fault if that stage sleeps and others have asked it for something. A process at the other end of a socket is"
    " looked at while it is waited for, and so is whom that waits for: what they are in then is the cause. If an"
    " event loop's own thread waits there, all its other requests wait with it: then the call that blocks is the"
    " fault.",
    alternatives="A worker that reads its jobs from a pipe or socket looks like a client of a slow server. If"
    " nothing arrived at all, nothing was asked for, or only acknowledgements were sent, the finding"
    " does not decide, unless the waits are inside requests: there nobody waits for jobs. A target that"
    " closes a connection because nothing came in time needed an answer.",
    remedies="Measure the other process in the same way.",
    names={Mechanism.MANY: "IPC-CALLS-MANY"},
    verify="Waits for the peer take less than 10 ms, or writers wait less for it.",
    elsewhere=True,
)
def peer_slow(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each peer, pipe or pipeline inside the target that takes enough time."""
    own, outside = pipelines(model)
    found = 0
    for rows in _together(model, outside):
        if worth(model, total_ns(rows)):
            found += 1
            yield _in_vain(model, rows) or _finding(model, rows)
    for pipeline in own:
        if worth(model, pipeline.ns):
            found += 1
            yield inside(model, pipeline)
    if not found:
        yield fine(model, "IPC-PEER-SLOW", "waiting for local processes", PIPE, UNIX)


def _together(model: Model, outside: list[list[Row]]) -> list[list[Row]]:
    """Return the waits by what is told in one finding: ends of which none is worth one, and pipes of which nobody knows
    the other end, as of a process for each request, unless one of them has half of the waiting."""
    outside = _by_writer(model, outside)
    large = [rows for rows in outside if worth(model, total_ns(rows))]
    small = [row for rows in outside if not worth(model, total_ns(rows)) for row in rows]
    named = {id(rows) for rows in large if rows[0].account != PIPE or waker_of(rows)}
    whole_ns = sum(total_ns(rows) for rows in large if id(rows) not in named)
    alone = [rows for rows in large if id(rows) in named or 2 * total_ns(rows) >= whole_ns]
    pooled = [row for rows in large if id(rows) not in named and 2 * total_ns(rows) < whole_ns for row in rows]
    return [*alone, *([pooled] if pooled else []), small]


def _by_writer(model: Model, outside: list[list[Row]]) -> list[list[Row]]:
    """Return the waits with those together that requests wait for at several pipes of one process."""
    of_one: dict[int, list[Row]] = {}
    for rows in outside:
        pid = rows[0].waker_pid if rows[0].account == PIPE and _in_requests(model, rows) else 0
        if pid:
            of_one.setdefault(pid, []).extend(rows)
    pooled = {id(row) for rows in of_one.values() for row in rows}
    return [*of_one.values(), *(rows for rows in outside if id(rows[0]) not in pooled)]


def _finding(model: Model, rows: list[Row]) -> Finding:
    whole, waker = together(rows), waker_of(rows)
    keys = {row.key for row in rows}
    who, where = other_end(model, rows, waker)
    ended = f"{who}, outside {subject(model)}, ended most of these waits"
    evidence = [waits(whole, f"waits for {who}{where}")]
    evidence += [Evidence(ended, waker, "tid", "sched_waking")] if waker else []
    in_turn, asked = _in_turn(model, rows), _asked(model, rows)
    writing, sampled = part_that_writes(model, rows)
    writes = writing is not None and writing >= local_policy.ipc_peer_share
    # A writer has no round trips: each of its waits is for a reader that has not kept up, however short.
    slow = (writes or typical_ns(whole) >= network_policy.slow_answer_ns) and not in_turn
    own = maker_pid(rows[0].key) in {row.pid for row in rows}  # it made both ends, and may hold both
    if not writes and (nothing_came(model, rows) or (own and not waker and slow)):
        return _silent(model, rows, own=own, written=writing is None)
    measure = how_to_measure(rows, waker)
    in_request = _in_requests(model, rows)
    owed, work = writes or in_request, of_waits(model, rows)
    may_feed = not owed and (not asked or _may_feed(model, rows, work))
    does, spot = does_slowly(rows, writes=writes), spot_of(rows)
    if slow and (held := holding(model, rows, f"at {place(model, rows, waker)}")):
        return _of_a_loop(model, rows, held, work, measure, evidence)
    known = slow_by_its_work(model, rows, work, spot, does, may_feed=may_feed) if slow and (asked or owed) else None
    if slow and (known or may_feed):
        return known or _work_or_answer(model, rows, waker, work, measure, asked=asked)
    sleeping = bool(in_turn) and mostly_sleeps(_done_by_others(model, rows))
    headline, claim, mechanism = _said(
        model, whole, who, where, slow=slow, asked=asked, writes=writes, in_turn=in_turn, sleeping=sleeping
    )
    hanging = sum(len(still_waiting(model, PIPE, UNIX, key=key)) for key in keys)
    if hanging:
        claim += f" {hanging} of the threads still waited at the end."
    return conclude(
        model,
        claims_of(rows),
        headline=headline,
        claim=begun(claim),
        mechanism=mechanism,
        severity=fault(model, whole.sum_ns) if slow else Severity.INFO,
        doubts=[
            "it is unknown who ends the waits: no thread ends half of them" if in_turn else "",
            "" if writes or in_request or not slow else LOOKS_THE_SAME,
            "that it writes is inferred from sampled stacks" if writes and slow and sampled else "",
        ],
        evidence=evidence,
        remedies=[fix("read what this report says of those threads") if in_turn else fix(measure)],
        alternatives=[] if writes or in_request else ["a worker that waits for its next job"],
        verify=_check(model, whole, f"for {who}{where}", writes=writes),
        others=peers(rows, waker),
    )


def _of_a_loop(
    model: Model, rows: list[Row], held: Holding, work: PeerWork | None, measure: str, evidence: list[Evidence]
) -> Finding:
    """Return the finding of a thread that reads requests and waits itself: whoever is slow, others need not wait."""
    whole, does = together(rows), meanwhile(work)
    claim = f"{held.headline}: half of {duration(whole.sum_ns)} is in waits of {about(typical_ns(whole))}.{held.claim}"
    return conclude(
        model,
        claims_of(rows),
        headline=held.headline,
        claim=f"{claim} Meanwhile {does}." if does else claim,
        mechanism=Mechanism.SLOW,
        severity=fault(model, whole.sum_ns),
        evidence=[*evidence, *held.evidence],
        remedies=[held.remedy, *([work.remedy] if work and not work.is_idle else []), fix(measure)],
        verify=shorter(model, "waits of the event loop there", typical_ns(whole), network_policy.slow_answer_ns),
        inside=True,
    )


def _may_feed(model: Model, rows: list[Row], work: PeerWork | None) -> bool:
    """Return whether what comes may be no answers: the target acknowledges it, or who sends it had nothing to do."""
    calls = calls_to(model, {row.key for row in rows})
    return may_acknowledge(model, calls) or had_nothing_to_answer(model, work)


def _work_or_answer(
    model: Model, rows: list[Row], waker: int, work: PeerWork | None, measure: str, *, asked: bool
) -> Finding:
    """Return the finding of waits that may be for slow answers, or for what the other end has not got yet."""
    who, where = other_end(model, rows, waker)
    whom = place(model, rows, waker)
    came = f"half of that in waits of {about(typical_ns(together(rows)))}"
    came += f" for {who}" if where and who not in whom else ""
    may = "slow answers or for the next of what it acknowledges" if asked else "a slow writer or for work"
    does = meanwhile(work)
    return silent(model, rows, whom, measure, came=came, may=f"answers or for work: {does}" if does else may)


def _in_vain(model: Model, rows: list[Row]) -> Finding | None:
    """Return the finding of an end where nobody answers, unless the waiting process may hold it itself."""
    if maker_pid(rows[0].key) in {row.pid for row in rows}:
        return None
    return never_answered(model, rows, place(model, rows, 0), fix(how_to_measure(rows, 0)), peers(rows, 0))


def _check(model: Model, whole: Distribution, whom: str, *, writes: bool) -> str:
    """Return the check of a fix; a writer that is held up has no answer that could come sooner."""
    if writes:
        return less(model, f"waiting {whom}", whole.sum_ns)
    return shorter(model, f"waits {whom}", typical_ns(whole), network_policy.slow_answer_ns)


def _said(
    model: Model,
    whole: Distribution,
    who: str,
    where: str,
    *,
    slow: bool,
    asked: bool,
    writes: bool,
    in_turn: str,
    sleeping: bool,
) -> tuple[str, str, Mechanism]:
    """Return headline, claim and mechanism of waits at one other end."""
    other_end, mechanism = brief(who.removesuffix(OTHER_END)), Mechanism.OTHERS
    if in_turn:
        headline = f"Threads wait at {other_end}; several other threads end their waits"
        claim = (
            f"Threads wait {duration(whole.sum_ns)} at {who.removesuffix(OTHER_END)}. Several threads end these"
            f" waits in turn, perhaps those of {in_turn}, which this report covers, too."
        )
        if sleeping:
            mechanism = Mechanism.UNDETERMINED
            headline = f"Threads wait at {other_end} for others, perhaps of {subject(model)}, which sleep"
            claim += f" These mostly sleep on a timer ({ASLEEP}): it is unknown whether somebody waits for them."
    elif not slow and not asked:
        headline, mechanism = f"Threads wait for {other_end} often, but not long", Mechanism.MANY
        claim = (
            f"Threads wait for {who}{where} often, but not long: {whole.count:,} waits of about"
            f" {about(typical_ns(whole))}."
        )
    elif not slow:
        headline, mechanism = f"Threads wait often for {other_end}, which answers fast", Mechanism.MANY
        each = duration(whole.sum_ns / max(1, whole.count))
        claim = f"{who} answers fast{where} ({each} a wait on average), but there are {whole.count:,} waits."
    elif writes:
        headline, mechanism = f"{other_end} reads slowly, and writers wait for it", Mechanism.SLOW
        claim = f"{who} reads slowly{where}: writers of {subject(model)} wait {duration(whole.sum_ns)} for it."
    else:
        headline, mechanism = f"{other_end} answers slowly", Mechanism.SLOW
        claim = f"{who} answers slowly{where}: half of the waiting time is in waits of {about(typical_ns(whole))}."
    return headline, claim, mechanism


def _asked(model: Model, rows: list[Row]) -> bool:
    """Return whether a request was sent; if calls are not measured, one may have been sent to a socket's peer. Nothing
    is requested through a pipe, nor through a pair of sockets without calls."""
    calls = {each.line.object for each in model.exchanges if each.line.direction == "connected"}
    return rows[0].account == UNIX and (not model.measured("requests") or any(row.key in calls for row in rows))


def _in_requests(model: Model, rows: list[Row]) -> bool:
    """Return whether most of the waits were surely inside requests: there nobody waits for work, but for what the
    request needs.  The time in requests is known by account only, so waits at other ends are taken off it."""
    time, account = model.request_time, rows[0].account
    in_requests_ns = time.accounts.get(account, 0) if time else 0
    if time and 2 * in_requests_ns >= time.ns and not is_fast_server(model):
        return True  # whatever threads wait there for at other times
    elsewhere_ns = model.ns(account) - total_ns(rows)
    return 2 * (in_requests_ns - elsewhere_ns) >= total_ns(rows) > 0


def _silent(model: Model, rows: list[Row], *, own: bool, written: bool) -> Finding:
    """Return the finding on ends of which nothing is known except that threads waited there."""
    several = len({row.key for row in rows}) > 1
    whom = place(model, rows, 0) + (" itself" if own and not several else "")
    pids = sorted({row.pid for row in rows} - {0})
    holds = f"see who holds the other end: lsof -E +c0 -p {','.join(map(str, pids[:3])) or 'PID'}"
    may = "work, for an answer or for room to write" if written else "work or for an answer"
    came = "nothing came" if nothing_came(model, rows) else "it is unknown who ended the waits"
    limit = "the process itself may hold the other end, too" if own else LOOKS_THE_SAME
    return silent(model, rows, whom, holds, came=came, may=may, limit=limit)


def _done_by_others(model: Model, rows: list[Row]) -> dict[str, int]:
    """Return what the target's other processes do, or its other threads where it is one, by account."""
    waiting = {row.pid for row in rows}
    others = [thread for thread in model.threads if thread.pid not in waiting]
    others = others or [thread for thread in model.threads if not thread.ns(rows[0].account)]
    return sums_by_key((name, total.ns) for thread in others for name, total in thread.accounts.items())


def _in_turn(model: Model, rows: list[Row]) -> str:
    """Return which other threads of the target may end the waits, "" if none: the recording keeps no names if many
    threads take turns."""
    if (
        any(row.waker_count for row in rows)
        or sum(row.distribution.count for row in rows) < local_policy.ipc_known_waits
    ):
        return ""
    waiting = {row.pid for row in rows}
    ran = [thread for thread in model.threads if thread.pid and cpu_ns(thread)]
    processes = {thread.pid for thread in ran} - waiting
    if processes:
        return f"the other {len(processes)} processes of {subject(model)}"
    # A pipe may end in the same process, and so may a socket that it made.
    beside = maker_pid(rows[0].key) in {None, *waiting} and len([thread for thread in ran if thread.pid in waiting]) > 1
    return f"other threads of {subject(model)}" if beside else ""
