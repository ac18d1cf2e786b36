"""Which process is at the other end of a pipe or a unix socket, as far as that is known, in the words of findings."""

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.locks.outside_wakers import ended_by
from perfdiag.diagnosis.evidence.pipelines import UNIX
from perfdiag.diagnosis.policy import local_policy
from perfdiag.diagnosis.rule import Other, Relation
from perfdiag.diagnosis.significance import plain
from perfdiag.model.model import Model, Row
from perfdiag.model.object_names import task_words
from perfdiag.model.waits.unix_ends import maker_pid
from perfdiag.recording.accounts import PIPE

OTHER_END = "'s other end"


def waker_of(rows: list[Row]) -> int:
    """Return the thread that ended most of the waits, or 0."""
    ended = sums_by_key((row.waker_tid, row.waker_count) for row in rows if row.waker_tid)
    tid = max(ended, key=lambda each: ended[each], default=0)
    return tid if ended.get(tid, 0) >= local_policy.ipc_peer_share * sum(row.distribution.count for row in rows) else 0


def other_end(model: Model, rows: list[Row], waker: int) -> tuple[str, str]:
    """Return who is waited for, and where (" at pipe 88"): a pipe names nobody, a socket names who made it."""
    if len({row.key for row in rows}) > 1:
        nouns = "pipes" if all(row.account == PIPE for row in rows) else "local peers"
        return f"{len({row.key for row in rows})} {nouns}", ""
    maker = maker_pid(rows[0].key)
    if maker and maker in (waker, _process(rows, waker)):
        return _maker(rows), ""
    place = _made(rows) if maker else plain(rows[0].object)
    if waker:
        return ended_by(model, rows, waker), f" at {place}" * bool(place)
    if maker:
        return f"a unix socket of {_maker(rows)}", ""
    return f"{place}{OTHER_END}" if place else "an unnamed peer", ""


def place(model: Model, rows: list[Row], waker: int) -> str:
    """Return where is waited, for a headline: at a socket the process at its other end counts, if it is known."""
    who, where = other_end(model, rows, waker)
    if len({row.key for row in rows}) > 1 or not maker_pid(rows[0].key):
        return where.removeprefix(" at ") or who.removesuffix(OTHER_END)
    return f"a unix socket of {who}" if waker else _made(rows)


def spot_of(rows: list[Row]) -> str:
    """Return where is waited, without who is at the other end."""
    number = len({row.key for row in rows})
    if rows[0].account == UNIX:
        return "a unix socket" if number == 1 else "unix sockets"
    return f"{number} pipes" if number > 1 else plain(rows[0].object) or "a pipe"


def does_slowly(rows: list[Row], *, writes: bool) -> str:
    """Return what who is at the other end does slowly."""
    if rows[0].account == UNIX:
        return "answers slowly"
    return f"reads slowly from {spot_of(rows)}" if writes else f"writes slowly to {spot_of(rows)}"


def how_to_measure(rows: list[Row], waker: int) -> str:
    """Return how to measure the other end: who made a socket may have left that to a child, or to a service."""
    if waker:
        return f"measure the other end: perfdiag latency --pid {_process(rows, waker) or waker}"
    if maker := maker_pid(rows[0].key):
        return f"measure the other end (lsof -E names it): perfdiag latency --pid {maker}, if it still has that"
    return "measure the other end: perfdiag latency --pid PEER (lsof -E names it)"


def peers(rows: list[Row], waker: int) -> list[Other]:
    """Return the thread that ended most waits, or the process that made the socket."""
    if waker:
        comm = next((row.waker_comm for row in rows if row.waker_tid == waker), "")
        return [Other(waker, plain(comm), Relation.PEER)]
    pid = maker_pid(rows[0].key)
    return [Other(pid, "", Relation.PEER)] if pid and len({row.key for row in rows}) == 1 else []


def _made(rows: list[Row]) -> str:
    return f"a unix socket made by {_maker(rows)}"


def _maker(rows: list[Row]) -> str:
    return plain(printable(task_words(rows[0].key.partition(":")[2])))


def _process(rows: list[Row], waker: int) -> int:
    """Return the process of the thread that ended most waits; 0: not known."""
    return next((row.waker_pid for row in rows if waker and row.waker_tid == waker), 0)
