"""Which databases of the target did not say what their sessions wait for, and why."""

from perfdiag.common.text import printable
from perfdiag.model.model import NotMeasured
from perfdiag.model.waits.postgres_waits import KIND, PREFIX
from perfdiag.recording.recording import Recording

SESSIONS = "sessions"  # feature
STATEMENTS = "statements"  # likewise
NAMES = {"postgresql": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL"}
COMMS = frozenset({"postgres", "postmaster", "edb-postgres"})  # as lib/recorder/apps/apps.c has them
_BY_HAND = 'by hand: psql -c "SELECT pid, wait_event_type, wait_event FROM pg_stat_activity"'


def not_measured(recording: Recording) -> list[NotMeasured]:
    """Return why waits of PostgreSQL have no names, of each server."""
    servers = [each for each in recording.applications if each.kind == KIND]
    unread = [each for each in servers if not each.reads]
    found = [
        _missing(
            f"PostgreSQL {printable(each.version)}".rstrip(), printable(each.lack or "its words could not be read")
        )
        for each in unread
    ]
    found += [
        NotMeasured(
            f"SQL statements of {NAMES.get(each.kind, printable(each.kind))} {printable(each.version)}".rstrip(),
            printable(each.statements_lack),
            "its own log of slow statements",
            STATEMENTS,
        )
        for each in recording.applications
        if each.statements_lack
    ]
    if servers or not any(line.comm in COMMS for line in recording.books()) or _told(recording):
        return found
    if recording.header.options.no_apps:
        return [NotMeasured(_what("PostgreSQL"), "--no-apps", "without that option it is read", SESSIONS)]
    return [_missing("PostgreSQL", "the recorder did not recognise it")]


def _told(recording: Recording) -> bool:
    return any(object.startswith(PREFIX) for _, _, object in recording.details)


def _missing(server: str, why: str) -> NotMeasured:
    return NotMeasured(_what(server), why, _BY_HAND, SESSIONS)


def _what(server: str) -> str:
    return f"what sessions of {server} wait for"
