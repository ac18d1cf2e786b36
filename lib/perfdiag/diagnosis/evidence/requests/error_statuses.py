"""What it means that somebody answers with an error, and what can be done: by the status of HTTP, Redis's word, or what
an SQL server says."""

from collections.abc import Mapping

from perfdiag.diagnosis.evidence.sql import sql_errors

_LOG = "see the server's log at these times"
_BEHIND = "diagnose the server behind that proxy, and see the proxy's log"
_KNOWN: Mapping[str, tuple[str, str]] = {
    "401": ("it does not know who asks", sql_errors.CREDENTIALS),
    "403": ("it does not allow that", sql_errors.CREDENTIALS),
    "404": (
        "what is asked for does not exist, or not yet",
        "find out who should make it, or whether it has another path",
    ),
    "405": ("it does not do that with what is asked for", "ask with a method that it allows: it is named in Allow"),
    "407": ("the proxy does not know who asks", sql_errors.CREDENTIALS),
    "408": ("it waited in vain for the rest of the request", "find out why the request comes so slowly"),
    "409": ("it conflicts with what somebody else does", "find out who else changes it"),
    "423": ("somebody else has locked it", "find out who has locked it"),
    "429": (
        "the server limits how often it is asked",
        "ask less often, wait for as long as Retry-After says, or have the limit raised",
    ),
    "500": ("the server fails", _LOG),
    "502": ("a proxy gets no valid answer from the server behind it", _BEHIND),
    "503": (
        "the server is overloaded, or not ready",
        f"{_LOG}: is it starting, at a limit, or down? Wait for as long as Retry-After says",
    ),
    "504": ("a proxy waits in vain for the server behind it", _BEHIND),
    "507": ("the server has no space left", "make room there"),
    "LOADING": ("Redis loads its data", "wait until it has; how long that takes: redis-cli INFO persistence"),
    "BUSY": ("a script runs in Redis", "find out which: redis-cli SLOWLOG GET"),
    "OOM": ("Redis is at its limit of memory", "raise maxmemory, or let old keys go: maxmemory-policy"),
    "READONLY": ("it is a replica of Redis", "write to the master: redis-cli INFO replication"),
    "MISCONF": ("Redis cannot save its data, and takes no writes", "see its log: is there room on its disk?"),
    "NOAUTH": ("Redis does not know who asks", sql_errors.CREDENTIALS),
    "NOPERM": ("Redis does not allow that", sql_errors.CREDENTIALS),
    "WRONGPASS": ("Redis does not know who asks", sql_errors.CREDENTIALS),
    "MOVED": ("another node of the cluster has that key", "use a client that knows the cluster"),
    "ASK": ("another node of the cluster gets that key", "use a client that knows the cluster"),
    "TRYAGAIN": ("the cluster moves these keys", "wait until it has: redis-cli CLUSTER INFO"),
    "CLUSTERDOWN": ("a part of the cluster is down", "find out which: redis-cli CLUSTER NODES"),
    "MASTERDOWN": ("a replica of Redis has lost its master", "see why: redis-cli INFO replication"),
    "NOREPLICAS": ("Redis has too few replicas to take writes", "see why: redis-cli INFO replication"),
}
_REFUSES = "the server refuses what it is asked", "see what is asked, and the server's log"
_OTHER = "OTHER"  # of Redis none of the words that are known, of SQL a state that could be a word
# Who looks whether something is there, waits until it is, or takes what is free meets these without any harm.
_EXPECTED = frozenset({"404", "409", "410", "412", "416", "423", "NOSCRIPT", "MOVED", "ASK"})


def meaning_of(status: str) -> tuple[str, str]:
    """Return what an answer with a status means, and what can be done."""
    if sql_errors.server_of(status):
        return sql_errors.meaning_of(status)
    return _KNOWN.get(status) or (_KNOWN["500"] if is_server_error(status) else _REFUSES)


def is_expected(status: str) -> bool:
    """Return whether an answer with that status may do no harm, however often it comes."""
    return status in _EXPECTED or status in sql_errors.EXPECTED


def is_server_error(status: str) -> bool:
    """Return whether the server takes the fault to be its own."""
    return len(status) == 3 and status.startswith("5")


def name_of(status: str) -> str:
    """Return what the status is called in a sentence: "503", "LOADING", "40P01 (deadlock)", "an error"."""
    if sql_errors.server_of(status):
        return sql_errors.name_of(status)
    return "an error" if status == _OTHER else status
