"""NET-CONNECT-SLOW: connecting takes long, because nobody answers SYNs and the kernel repeats them."""

from collections.abc import Iterable

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.idle.sleeps import sleeps_in
from perfdiag.diagnosis.evidence.network.connect_attempts import CONNECT, ID, Connects, connects_of
from perfdiag.diagnosis.evidence.network.full_connection_table import full_table
from perfdiag.diagnosis.evidence.network.peers import peer_of
from perfdiag.diagnosis.evidence.requests.calls import (
    claimed,
    felt,
    fine_or_unknown,
    longer,
    not_followed,
    of_requests_ns,
    severity,
)
from perfdiag.diagnosis.evidence.requests.polling import TIMER
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, network_policy
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import (
    about,
    brief,
    duration,
    fix,
    plain,
    still_waiting,
    together,
    total_ns,
    waits,
)
from perfdiag.model.model import Model, once
from perfdiag.model.requests.request_time import REST


@rule(
    ID,
    title="Connecting to a peer takes long",
    accounts=(CONNECT, REST, TIMER),
    meaning="The peer's kernel accepts a connection within one round trip, however busy its programs are. Without"
    " an answer, the kernel here repeats the SYN after 1, 3 and 7 seconds: the accept queue there is full,"
    " a firewall drops the packets, its table of connections is full, or the address is dead. Connects that"
    " fail at once cost no time themselves; the pause before another try does.",
    measured="Waits to connect by peer, and the time from the first SYN until the connection stood or failed"
    " (inet_sock_set_state), even if no thread waited. Slow is more than the shortest round trip plus the"
    " larger of half of it and 10 ms; if the round trip is unknown, half a second, which only a repeated"
    " SYN explains. Failures at once count if there is at least one for each slow request, and half of the"
    " requests' time was followed nowhere, or slept in no more sleeps than connects failed.",
    alternatives="The peer is far away and its round trip was never measured; packets are lost (NET-RETRANSMITS).",
    remedies="Look at the peer's accept queue first, then at firewalls, then whether anything listens there.",
    verify="Connecting takes about a round trip; nstat -z TcpExtTCPSynRetrans stays at 0.",
    beats=(
        "CPU-OVERSUBSCRIBED",
        "NET-PEER-SLOW",
        "NET-SELF-SLOW",
        "WAIT-TIMER-IN-REQUEST",
        "TARGET-SLEEPS",
    ),
    elsewhere=True,
)
def connect_slow(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each peer to which connecting is slow, and a check of those that refuse at once."""
    said = 0
    for each in connects_of(model):
        requests_ns = of_requests_ns(model, each.took_ns)
        enough = each.unanswered >= network_policy.retransmits and each.took_ns and model.request_time is None
        if felt(model, each.waited_ns, requests_ns) or enough:
            said += 1
            yield _finding(model, each, requests_ns)
        elif (refused := _refused(each)) is not None:
            said += 1
            yield _before_pauses(model, each) or _before_sleeps(model, each) or refused
    if not said:
        yield fine_or_unknown(model, ID, "connecting", CONNECT)


def _refused(connects: Connects) -> Check | None:
    """Return that many connects failed without making anybody wait."""
    line = connects.call.line if connects.call else None
    if line is None or line.connects_failed < network_policy.failed_connects:
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
                "see the error: strace -f -e trace=connect -p PID; ECONNREFUSED: nobody listens there; EADDRNOTAVAIL:"
                " no local port is free (ss -s, net.ipv4.ip_local_port_range), so keep connections open and share them"
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


def _finding(model: Model, connects: Connects, requests_ns: int) -> Finding:
    key, name, full = connects.key, connects.name, full_table(model)
    took_ns = max(connects.waited_ns, connects.took_ns)
    if full and (connects.none_succeeded or connects.retried):
        claim = f"{full.sentence} Connecting to {name} needs repeated SYNs, {duration(took_ns)} in all."
        headline, mechanism = full.headline, Mechanism.LIMIT
    elif connects.none_succeeded and connects.call:
        failed = connects.call.line.connects_failed
        claim = (
            f"None of {failed:,} connects to {name} succeeded: {subject(model)} gave up after"
            f" {duration(took_ns)} in all."
        )
        headline, mechanism = f"None of {failed:,} connects to {brief(name)} succeeded", Mechanism.FAILED
    elif connects.retried:
        claim = (
            f"Connecting to {name} needs repeated SYNs, {duration(took_ns)} in all: its accept queue is full, a"
            " firewall drops packets, or nobody is there."
        )
        headline, mechanism = f"Connecting to {brief(name)} needs repeated SYNs", Mechanism.FAILED
    else:
        claim = f"Connecting to {name} takes far longer than the round trip: {duration(took_ns)} in all."
        headline, mechanism = f"Connecting to {brief(name)} is slow", Mechanism.SLOW
    hanging = [thread for thread, wait in still_waiting(model, CONNECT) if wait.object == key]
    if hanging:
        claim += f" {len(hanging)} of the threads still waited at the end."
    success = f"connecting to {name} takes less than {duration(connects.limit_ns)}"
    if connects.none_succeeded:
        success = f"connects to {name} succeed"
    counted = "" if connects.call else "repeated SYNs were not counted"
    shared = "the part of each peer is estimated from the time of its calls" if requests_ns else ""
    return conclude(
        model,
        claimed({(CONNECT, key): min(connects.waited_ns, total_ns(connects.rows))}, requests_ns),
        headline=headline,
        claim=claim,
        mechanism=mechanism,
        severity=severity(model, connects.waited_ns, requests_ns, connects.took_ns),
        doubts=[counted, shared, not_followed(model)],
        evidence=[*_evidence(connects), *([full.evidence] if full else [])],
        remedies=[*(full.remedies if full else []), *_remedies(model, connects)],
        alternatives=["packets are lost on the way: see NET-RETRANSMITS"],
        verify=measured(model, success),
    )


def _evidence(connects: Connects) -> list[Evidence]:
    evidence = [waits(together(connects.rows), f"waits for {connects.name}")] if connects.rows else []
    if connects.call:
        line, latencies = connects.call.line, connects.call.connect
        failed = f", {line.connects_failed:,} failed" if line.connects_failed else ""
        failed += f", {line.connecting:,} not made when the window ended" if line.connecting else ""
        slow = f", {longer(latencies, connects.limit_ns):,} of them took {about(connects.limit_ns)} or more"
        text = f"{plural(latencies.count, 'connect')}{failed}{slow}; longest {duration(latencies.max_ns)}"
        evidence.append(Evidence(text, float(latencies.sum_ns), "ns", "inet_sock_set_state"))
        if line.retries:
            evidence.append(Evidence(f"{line.retries:,} SYNs repeated", float(line.retries), "count", "tcp_sock"))
    if connects.way_ns is not None:
        text = f"shortest round trip {duration(connects.way_ns)}"
        evidence.append(Evidence(text, float(connects.way_ns), "ns", "tcp_info"))
    return evidence


def _remedies(model: Model, connects: Connects) -> list[Remedy]:
    peer = peer_of(connects.key)
    port = f" sport = :{peer.port}" if peer else ""
    present = model.facts.sysctl("net/core/somaxconn")
    limit = f" (present {plain(present)} here)" if peer and peer.local and present else ""
    queue = fix(
        f"look at the peer's accept queue: ss -ltn{port} (Recv-Q against Send-Q), nstat -az TcpExtListenOverflows"
        " TcpExtListenDrops; if it is full, the program there accepts too slowly, or its queue is too short:"
        f" listen() and net.core.somaxconn{limit}"
    )
    dead = fix(
        "check that the peer is up and listens; if it does, look for a firewall that drops instead of refusing;"
        " remove dead addresses from the list of peers"
    )
    pool = fix("keep connections open and share them (a pool)")
    return [dead, queue, pool] if connects.none_succeeded else [queue, dead, pool]
