"""Locks that statements of MariaDB and MySQL wait for, whose sessions publish no state, outside of transactions.

A session whose statements are transactions of their own holds nothing between two of them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

from perfdiag.model.waits.wait_chains import brings_news
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED
from perfdiag.recording.recording import Recording

NAMED_WAITS = 3  # fewer may have been of a statement that was another kind of
# Whoever holds locks between two statements says so, and gives them back in one of these.
_ENDS = re.compile(
    r"\b(COMMIT|ROLLBACK|BEGIN|START\s+TRANSACTION|AUTOCOMMIT|(UN)?LOCK\s+TABLES?|RELEASE_\w*LOCKS?|XA)\b",
    re.IGNORECASE,
)
_END_NOTHING = {"other", "not_run"}  # without text, too


def self_committing(recording: Recording) -> set[int]:
    """Return the servers whose statements in the window were transactions of their own, each.

    Where the text of some was not seen, that is unknown.
    """
    known = [line for line in recording.statements if line.kind not in _END_NOTHING]
    if not known or not all(line.kind == "run" and not _ENDS.search(line.name) for line in known):
        return set()
    servers = {line.server for line in known}
    return {line.pid for line in recording.applications if line.kind in servers & {"mariadb", "mysql"}}


def without_later_statements(recording: Recording) -> Sequence[schema.Because]:
    """Return what threads waited for, without the time before a statement of the awaited session had come.

    It held nothing then: it got in line before the one that waited, as a writer does before readers. What it waited for
    itself, once its statement had come, is the cause.
    """
    servers = self_committing(recording)
    return [line for line in recording.because if not (line.pid in servers and _came_later(line))]


def _came_later(line: schema.Because) -> bool:
    return line.inside and line.account == PARKED and not line.steps and brings_news(line.root)


def statement_locks(
    recording: Recording, named: Iterable[tuple[schema.Stack, str]]
) -> Mapping[int, tuple[str, Set[str]]]:
    """Return by server the lock that all named waits in its requests were for, and the words of all waits in them.

    The stacks of most end before that name. A statement waits for no work, so it waits there for a lock, too.  `named`:
    stacks, each with its lock.
    """
    words: dict[int, set[str]] = {pid: set() for pid in self_committing(recording)}
    for line in recording.requests_parked:
        if line.pid in words:
            words[line.pid].add(line.object)
    locks: defaultdict[int, list[str]] = defaultdict(list)
    for stack, lock in named:
        if stack.object in words.get(stack.pid, ()):
            locks[stack.pid] += [lock] * stack.count
    return {
        pid: (found[0], words[pid])
        for pid, found in locks.items()
        if len(found) >= NAMED_WAITS and len(set(found)) == 1
    }
