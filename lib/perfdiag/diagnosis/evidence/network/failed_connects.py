"""Connects that fail at once, and cost time by the pause before another try."""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.debuggers import first_shown_pid
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.idle.sleeps import sleeps_in
from perfdiag.diagnosis.evidence.network.connect_attempts import ID, Connects
from perfdiag.diagnosis.evidence.requests.calls import longer
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, network_policy
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity
from perfdiag.diagnosis.significance import brief, duration, fix, together
from perfdiag.model.model import Model, once
from perfdiag.model.requests.request_time import REST
from perfdiag.recording.accounts import TIMER


def failed_at_once(model: Model, connects: Connects) -> Outcome | None:
    """Return the finding on such connects to a peer, a check where nothing waits for another try, None where they
    succeed."""
    refused = _refused(connects)
    if refused is None:
        return None
    return _before_pauses(model, connects) or _before_sleeps(model, connects) or refused


def _refused(connects: Connects) -> Check | None:
    """Return that many connects failed without making anybody wait."""
    line = connects.call.line if connects.call else None
    if line is None:
        return None
    few = network_policy.failed_connects if line.connects else network_policy.failed_connects_alone
    if line.connects_failed < few:
        return None
    part = line.connects_failed / (line.connects + line.connects_failed)
    if part < network_policy.failed_connects_share:
        return None
    tried = plural(line.connects + line.connects_failed, "connect")
    return Check(
        ID, f"{line.connects_failed:,} of {tried} to {connects.name} failed, all quickly", part, "share", large=True
    )


def _before_pauses(model: Model, connects: Connects) -> Finding | None:
    """Return the finding on connects that fail at once while requests are in nobody's hands, or those who serve them
    sleep: who fails to connect tries again after a pause, or elsewhere.  None where there are fewer failures than slow
    requests."""
    time, call = model.request_time, connects.call
    slow = _slow_requests(model)
    pauses = {account: time.accounts.get(account, 0) for account in (REST, TIMER)} if time else {}
    paused_ns = sum(pauses.values())
    if time is None or call is None or 2 * paused_ns < time.ns or call.line.connects_failed < max(1, slow):
        return None
    sleeps = sum(row.distribution.count for row in model.rows_of(TIMER))
    slept = pauses[TIMER] > pauses[REST]
    if slept and call.line.connects_failed < sleeps:
        return None  # most sleeps are for something else
    how, which = ("slept", TIMER) if slept else ("waited in nobody's hands", REST)
    code = sleeps_in(model, model.threads) if slept else ""
    meanwhile = f"{how} for {duration(pauses[which])}{f' in {code}' if code else ''}"
    failed, tried = call.line.connects_failed, call.line.connects + call.line.connects_failed
    text = f"{failed:,} of {plural(tried, 'connect')} failed, longest {duration(call.connect.max_ns)}"
    return conclude(
        model,
        {account: model.ns(account) or ns for account, ns in pauses.items() if ns},
        headline=f"Requests wait while connects to {brief(connects.name)} fail",
        claim=(
            f"{failed:,} of {plural(tried, 'connect')} to {connects.name} failed at once, at least one for each of the"
            f" {plural(slow, 'slow request')}, which {meanwhile} meanwhile."
        ),
        mechanism=Mechanism.FAILED,
        severity=Severity.WARNING,
        best=Confidence.MEDIUM,
        doubts=["which request a failed connect was for is not known, nor how long a pause it caused"],
        evidence=[Evidence(text, float(failed), "count", "inet_sock_set_state")],
        remedies=[
            fix("see whether the peer is up and listens there, or take it off the list of peers"),
            fix("shorten the pause before another try, or try another peer at once"),
        ],
        alternatives=["requests wait for something else, and nobody needs that peer"],
        verify=measured(model, f"connects to {connects.name} succeed"),
    )


def _before_sleeps(model: Model, connects: Connects) -> Finding | None:
    """Return the finding on connects that fail at once where a target that serves no requests sleeps as often: it tries
    again after a pause.  None where it sleeps more often, for something else, or hardly."""
    rows, call = model.rows_of(TIMER), connects.call
    if model.request_time or call is None or not rows:
        return None
    slept, failed = together(rows), call.line.connects_failed
    again = failed >= network_policy.failed_before_sleeps_share * slept.count
    if not again or slept.count < network_policy.failed_before_sleeps_share * failed:
        return None
    if slept.sum_ns < general_policy.fault_share * model.window_ns:
        return None
    tried = plural(call.line.connects + failed, "connect")
    text = f"{failed:,} of {tried} failed, longest {duration(call.connect.max_ns)}; {slept.count:,} sleeps"
    return conclude(
        model,
        {TIMER: slept.sum_ns},
        headline=f"{failed:,} of {tried} to {brief(connects.name)} failed at once, and as many sleeps followed",
        claim=(
            f"{failed:,} of {tried} to {connects.name} failed at once; {subject(model)} slept as often,"
            f" {duration(slept.sum_ns)} in all: it tries again after a pause."
        ),
        mechanism=Mechanism.FAILED,
        severity=Severity.WARNING,
        best=Confidence.MEDIUM,
        doubts=["that it sleeps because of them is inferred from their number"],
        evidence=[Evidence(text, float(failed), "count", "inet_sock_set_state")],
        remedies=[
            fix(
                f"see the error: strace -f -e trace=connect -p {first_shown_pid(model)};"
                " ECONNREFUSED: nobody listens there;"
                " EADDRNOTAVAIL: no local port is free (ss -s, net.ipv4.ip_local_port_range), so keep connections open"
                " and share them"
            ),
            fix("shorten the pause before another try"),
        ],
        alternatives=["it sleeps for something else, as often by chance"],
        verify=measured(model, f"connects to {connects.name} succeed"),
    )


@once
def _slow_requests(model: Model) -> int:
    served = [each for each in model.exchanges if each.served]
    return sum(longer(each.whole, network_policy.slow_answer_ns) + each.line.unanswered for each in served)
