"""What to run to see who a peer is, and why it is slow."""

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.peers import Peer, peer_of
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.waits.unix_ends import maker_pid


def measure(peers: Sequence[Peer]) -> str:
    """Return the command that measures these peers, or the first of several, and where to run it."""
    if not peers or peers[0].unconnected:
        return "measure the peer: run perfdiag latency there"
    host = "on this host" if peers[0].local else f"on {plain(peers[0].address)}"
    which = "one of them" if len(peers) > 1 else "the peer"
    return f"measure {which}, {host}: perfdiag latency --port {peers[0].port}"


def show_other_end(peers: Sequence[Peer]) -> str:
    """Return the command that shows who is at the other end, and whether an answer is due."""
    if len(peers) == 1 and peers[0].local:
        return f"see who answers there: ss -ltnp sport = :{peers[0].port}"
    return "see what was sent last: ss -tnpi (lastsnd)"


def measure_called(model: Model, call: Exchange) -> Remedy:
    """Return the remedy that measures whom these calls ask."""
    peer, pid = peer_of(call.line.object), maker_pid(call.line.object)
    if pid and pid not in {thread.pid for thread in model.threads}:  # a unix socket's, of which the target has one end
        return fix(f"measure the peer, on this host: perfdiag latency --pid {pid}, if it still has that socket")
    return fix(measure([peer] if peer else []))
