"""Calls that begin with a new connection and a TLS handshake, for which the peer's own time would be blamed."""

import re

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.network.measuring_peers import measure_called
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.evidence.requests.calls import severity
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import about, brief, fix
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import PEERS

KEEP = fix(
    "keep connections open between calls: a session, a pool, keep-alive (of nginx: keepalive in upstream; of Go: "
    "MaxIdleConnsPerHost of http.Transport, 2 by default)"
)
# Of clients: Go, OpenSSL, GnuTLS, rustls, and Java's.
_HANDSHAKE = re.compile(
    r"crypto/tls\.\S*clientHandshake|SSL_connect|tls_(construct_client_hello|process_server_hello)|gnutls_handshake"
    r"|rustls::client::hs|sun\.security\.ssl\.(ServerHello|ClientHello)"
)


def new_connections(model: Model, call: Exchange, ns: int) -> Finding | None:
    """Return the finding of calls that mostly begin with a handshake, whose first answer counts as one of a call, too;
    else None.

    `ns`: of the requests' time that waits for this peer.
    """
    made = call.line.connects - call.line.connects_failed
    asked = call.line.count - made
    if (
        made < network_policy.connections_anew
        or asked <= 0
        or made * network_policy.calls_of_connection < call.line.count
        or not _shakes_hands(model)
    ):
        return None
    name, each = name_of(call.line.object, call.object), about(call.whole.typical_ns())
    begin = f"{min(made, asked):,} of {plural(asked, 'call')}"
    return conclude(
        model,
        {PEERS: ns},
        headline=f"{begin} to {brief(name)} begin with a new connection and a TLS handshake",
        claim=(
            f"{begin} to {name} begin with a new connection and a TLS handshake: another answer is waited for before"
            f" the call's own. Half of the time is in answers of {each} or more."
        ),
        mechanism=Mechanism.MANY,
        severity=severity(model, 0, ns),
        doubts=["handshakes are known from sampled stacks, for all peers together"],
        evidence=[
            Evidence(
                f"{plural(made, 'new connection')}, {call.line.count:,} answers, those of handshakes included",
                float(made),
                "count",
                "sockets",
            )
        ],
        remedies=[KEEP, measure_called(model, call)],
        alternatives=["the peer closes the connection after each answer: its keep-alive is off, or its limit is low"],
        verify=fewer(model, f"new connections to {name}", made),
        inside=True,
    )


@once
def _shakes_hands(model: Model) -> bool:
    """Return whether the target was seen in handshakes of TLS, as a client."""
    return any(_HANDSHAKE.search(name) for stack in model.stacks for name in (*stack.user, *stack.scan, *stack.script))
