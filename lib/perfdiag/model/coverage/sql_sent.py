"""Which SQL statements that the target sent are not told, and why."""

from collections.abc import Mapping, Sequence

from perfdiag.common.text import printable
from perfdiag.common.units import plural
from perfdiag.model.model import NotMeasured
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording

SENT = "sql_sent"  # feature
# The ports that IANA assigned to the servers whose protocols are read: of what goes there something has to be said.
PORTS: Mapping[str, str] = {"3306": "MariaDB or MySQL", "5432": "PostgreSQL"}
_BY_HAND = "the server's own log of statements"


def not_measured(recording: Recording) -> list[NotMeasured]:
    """Return what is missing of statements on connections that were read, and which connections could not be read."""
    found = []
    if unread := recording.footer.lost.get("statements_unread", 0) if recording.footer else 0:
        why = "the text did not lie in the memory of the call that sent it: sent in pieces, or by another way"
        found.append(
            NotMeasured(f"{plural(unread, 'SQL statement')} of those that the target sent", why, _BY_HAND, SENT)
        )
    for port, server in PORTS.items():
        calls = _not_recognised(recording, port)
        if calls:
            found.append(_missing(recording.header.options, server, calls))
    return found


def _not_recognised(recording: Recording, port: str) -> list[schema.Exchange]:
    """Return the calls to peers at a port of which none was recognised as a statement."""
    read = {line.object for line in recording.sql_calls}
    return [
        line
        for line in recording.exchanges
        if line.direction == "connected" and line.count and line.object.endswith(f":{port}") and line.object not in read
    ]


def _missing(options: schema.Options, server: str, calls: Sequence[schema.Exchange]) -> NotMeasured:
    peers = sorted({printable(line.object.removeprefix("peer:")) for line in calls})
    others = f" and {plural(len(peers) - 1, 'other peer')}" if peers[1:] else ""
    what = f"SQL statements sent to {peers[0]}{others}, by its port {server}"
    if options.no_apps or options.no_request_names:
        option = "--no-apps" if options.no_apps else "--no-request-names"
        return NotMeasured(what, option, "without that option they are read", SENT)
    count = plural(sum(line.count for line in calls), "call")
    why = f"none was recognised among {count}: encrypted, or sent in pieces"
    return NotMeasured(what, why, _BY_HAND, SENT)
