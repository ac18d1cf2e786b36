"""NET-CORKED: what the target has written does not leave, because it has said that more would come."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.network.connections import Cause, named, outcomes
from perfdiag.diagnosis.evidence.network.delayed_acks import RECEIVE, calls_by_connection
from perfdiag.diagnosis.evidence.network.held_answers import Kept, corked_answers
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import brief, fault, fix, total_ns
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.request_time import CORKED
from perfdiag.recording import schema

ID, DROPPED = "NET-CORKED", "a queue of this host itself dropped the last piece (tc -s qdisc)"
UNCORK = fix(
    "take TCP_CORK away after the last piece, send that piece without MSG_MORE (strace -f -e"
    " trace=setsockopt,sendto,sendmsg,sendfile shows both), or write each message at once"
)


@rule(
    ID,
    title="The target keeps its last piece back",
    accounts=(RECEIVE, CORKED),
    meaning="A socket with TCP_CORK, or a piece sent with MSG_MORE, tells the kernel that more will come. Unless more"
    " does, or the socket is uncorked, the last piece waits for 200 ms or more before it leaves.",
    measured="Calls and answers whose last piece stayed here though path and peer had room for it, and nothing else"
    " held it (tcp_sock); until something was sent, to a tick of the clock. Half of the calls' time, or 1 % of the"
    " requests' time. The last answer on an open connection is not seen.",
    alternatives="The target meant to write more, and something else kept it from that meanwhile.",
    remedies="Uncork the socket after the last piece (TCP_CORK 0; nginx: tcp_nodelay on), send it without MSG_MORE.",
    verify="The report's request time shows no answers that are corked.",
    beats=("NET-PEER-SLOW", "NET-SELF-SLOW"),
)
def corked(model: Model) -> Iterable[Outcome]:
    """Yield one finding for calls that leave late, and one for answers."""
    if any(each.line.corked_ns is None for each in model.exchanges):
        yield Silence(ID, "what waits in corked sockets was not recorded", "record again with this perfdiag")
        return
    answers = corked_answers(model)
    if answers:
        yield _of_answers(model, answers)

    def explained_ns(rows: list[Row], socket: schema.Socket) -> int:
        call = calls_by_connection(model).get(socket.object)
        ns = (call.line.corked_ns or 0) if call else 0
        if call is None or ns < network_policy.retransmits_explain_share * call.line.sum_ns:
            return 0
        return min(total_ns(rows), ns)

    for outcome in outcomes(model, ID, (RECEIVE,), explained_ns, _of_calls, "data kept back in corked sockets"):
        if not (answers and isinstance(outcome, Check)):  # that of calls would contradict the finding on answers
            yield outcome


def _of_answers(model: Model, kept: Kept) -> Finding:
    return conclude(
        model,
        {CORKED: kept.of_requests_ns} if kept.of_requests_ns else {},
        headline="Answers wait in corked sockets for more to be sent",
        claim=(
            f"Answers leave this host late: {subject(model)} has told the kernel that more will come (TCP_CORK or"
            f" MSG_MORE), and the last piece waits for that, {kept.mean()} each."
        ),
        mechanism=Mechanism.SLOW,
        severity=kept.severity,
        doubts=[not_followed(model)],
        evidence=kept.evidence(),
        remedies=[UNCORK],
        alternatives=[DROPPED],
        verify=time_under(model, CORKED),
    )


def _of_calls(model: Model, causes: list[Cause]) -> Finding:
    asked = (calls_by_connection(model)[cause[2].object] for cause in causes)
    calls = Kept([(call.line.corked_ns or 0, call) for call in asked])
    name = named(causes)
    return conclude(
        model,
        {cause[0]: cause[3] for cause in causes},
        headline=f"Calls to {brief(name)} wait in corked sockets",
        claim=(
            f"Calls to {name} leave this host late: {subject(model)} has told the kernel that more will come (TCP_CORK"
            f" or MSG_MORE), and the last piece waits for that, {calls.mean()} each."
        ),
        mechanism=Mechanism.SLOW,
        severity=fault(model, sum(cause[3] for cause in causes)),
        evidence=calls.evidence("call"),
        alternatives=[DROPPED],
        remedies=[UNCORK],
        verify=time_under(model, RECEIVE),
    )
