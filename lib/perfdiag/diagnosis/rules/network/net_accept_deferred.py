"""NET-ACCEPT-DEFERRED: the kernel keeps new connections from accept() until their clients send something."""

from collections.abc import Iterable

from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import fix
from perfdiag.model.model import Model

ID = "NET-ACCEPT-DEFERRED"
DEFERRED, REPEATED = "TcpExt.TCPDeferAcceptDrop", "TcpExt.TCPSynRetrans"
LOOK = "nstat -az TcpExtTCPDeferAcceptDrop TcpExtTCPSynRetrans"


@rule(
    ID,
    title="Connections wait for their first data before they can be accepted",
    accounts=(),
    meaning="A listening socket has TCP_DEFER_ACCEPT: the kernel gives a new connection to accept() only when the"
    " client has sent something, or after a second or more. Clients of databases, mail and SSH, which let the"
    " server speak first, wait for that timer. The target itself sees the connection late and loses no time.",
    measured="TCPDeferAcceptDrop, which counts handshakes that ended without data, and TCPSynRetrans, of SYNs and"
    " SYN-ACKs that were sent again, less the SYNs of the target's own connects, both of its network namespaces: the"
    " smaller one, where it listens.",
    alternatives="Clients that connect ahead of time, or scanners, which send nothing and wait for nothing; another"
    " process's socket in the same namespace.",
    remedies="Take the option off the sockets of such protocols: defer-accept of HAProxy, deferred of nginx's listen,"
    " AcceptFilter of Apache. For HTTP it is of use.",
    verify="TCPDeferAcceptDrop no longer grows with TCPSynRetrans.",
    one_process=True,
    met=False,
)
def accept_deferred(model: Model) -> Iterable[Outcome]:
    """Join two counters of the kernel with the sockets that the target listens on."""
    deferred, repeated = (model.facts.network_delta(name) for name in (DEFERRED, REPEATED))
    listeners = model.facts.listeners
    if not listeners or not listeners.sockets:
        return
    if deferred is None or repeated is None:
        yield Silence(ID, "it is unknown whether connections were kept from accept(): no counters of TCP", LOOK)
        return
    own = sum(each.line.retries for each in model.exchanges if each.line.direction == "connected")  # SYNs, too
    repeated = max(0, repeated - own)
    kept = min(deferred, repeated)
    if kept < network_policy.deferred_connections:
        yield Check(ID, f"{plural(kept, 'connection')} waited for data before accept()", float(kept), "count")
        return
    ports = first_of([str(port) for port in sorted({each.port for each in listeners.sockets})], 3)
    yield conclude(
        model,
        {},
        headline=f"TCP_DEFER_ACCEPT held back {plural(kept, 'new connection')} for a second or more",
        claim=f"{plural(kept, 'connection')} of this network namespace had to wait a second or more before accept(), as"
        f" the client had sent nothing yet; {subject(model)} listens on port {ports}.",
        mechanism=Mechanism.LIMIT,
        severity=Severity.WARNING,
        doubts=["the counters are of all sockets of the network namespace, and of connects by others"],
        evidence=[
            Evidence(
                f"{plural(deferred, 'handshake')} completed without data, {repeated:,} SYN-ACKs were sent again",
                float(kept),
                "count",
                "/proc/PID/net/netstat",
            )
        ],
        remedies=[
            fix(
                "turn TCP_DEFER_ACCEPT off on this socket, whose clients wait for the server to speak first (HAProxy:"
                " defer-accept of its bind line; nginx: deferred of listen; Apache: AcceptFilter)"
            ),
        ],
        alternatives=["clients connect ahead of time and send nothing", "the socket is another process's"],
        verify=checked(f"{listeners.enter(listeners.sockets[0])}{LOOK}", "TCPDeferAcceptDrop does not grow"),
        inside=True,
    )
