"""What sessions of PostgreSQL wait for, as they say themselves: the objects "postgres:CLASS:EVENT" of a recording."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.model.waits.postgres_wait_names import BUFFER_PIN, CLASSES, CLIENT, IO, LOCK, LWLOCK, name_of
from perfdiag.recording.schema import Application

PREFIX = "postgres:"
KIND = "postgresql"
WAL_FLUSHES = frozenset({"WALSync", "WALWrite", "WALInitSync", "WALSyncMethodAssign"})
# Locks on rows are locks on the transaction that changed them, and on the row for the place in the queue.
ROW_LOCKS = frozenset({"transactionid", "tuple", "spectoken"})
TABLE_LOCKS = frozenset({"relation", "extend", "page", "object", "frozenid", "virtualxid"})


@dataclass(frozen=True)
class SessionWait:
    """A wait event of PostgreSQL."""

    class_: int
    event: int
    in_transaction: bool  # of a wait for its client: that comes in the middle of a transaction
    name: str = ""  # "transactionid"; "": not known of this version

    @property
    def text(self) -> str:
        """The wait for people, with the words of pg_stat_activity: "Lock: transactionid"."""
        kind = CLASSES.get(self.class_, f"wait class {self.class_}")
        named = f"{kind}: {self.name}" if self.name else f"{kind} {self.event}"
        return f"{named}, in a transaction" if self.in_transaction else named

    @property
    def is_idle_in_transaction(self) -> bool:
        """Whether the session has a transaction open and waits for what its client does next."""
        return self.class_ == CLIENT and self.event == 0 and self.in_transaction

    @property
    def is_for_client(self) -> bool:
        """Whether it is one for a client, which only sessions of clients have."""
        return self.class_ == CLIENT

    @property
    def is_kept_to_the_end(self) -> bool:
        """Whether it is one for a lock that a transaction keeps until its end: advisory ones may be a session's."""
        return self.class_ == LOCK and self.name in ROW_LOCKS | TABLE_LOCKS

    @property
    def is_for_wal(self) -> bool:
        """Whether it is one for the write-ahead log to be safe: doing that, or standing in line behind who does."""
        if self.class_ == LWLOCK:
            return self.name == "WALWrite"
        return self.class_ == IO and (self.name in WAL_FLUSHES or not self.name)


def parse(key: str, major: int | None = None) -> SessionWait | None:
    """Return what an object of a recording says, None where it is no wait of PostgreSQL, or damaged."""
    if not key.startswith(PREFIX):
        return None
    class_, _, rest = key.removeprefix(PREFIX).partition(":")
    event, _, flag = rest.partition(":")
    if not (class_.isdecimal() and event.isdecimal() and len(class_) < 4 and len(event) < 9):
        return None
    return SessionWait(int(class_), int(event), flag == "transaction", name_of(int(class_), int(event), major))


def major_of(applications: Iterable[Application]) -> int | None:
    """Return the major version of the servers in a recording, None where that is not known or they have several."""
    majors = {each.version.partition(".")[0] for each in applications if each.kind == KIND and each.reads}
    first = majors.pop() if len(majors) == 1 else ""
    return int(first) if first.isdecimal() and len(first) < 4 else None


__all__ = [
    "BUFFER_PIN",
    "KIND",
    "LWLOCK",
    "PREFIX",
    "ROW_LOCKS",
    "TABLE_LOCKS",
    "SessionWait",
    "major_of",
    "parse",
]
