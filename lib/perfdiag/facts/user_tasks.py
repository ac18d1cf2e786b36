"""Targets that may start no more tasks, because their user has as many as their RLIMIT_NPROC allows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from perfdiag.facts.texts import Texts, lines_of, number, words_of

PATTERN = r"/user_tasks/([0-9]{1,10})"  # of the recorder: no file


@dataclass(frozen=True, slots=True)
class UserAtLimit:
    """A process at that limit when the window ended."""

    user: int
    tasks: int  # threads of all processes of that user
    limit: int
    hard_limit: int | None  # None: unlimited
    pid: int


def read_users_at_limit(texts: Texts) -> Sequence[UserAtLimit] | None:
    """Read the processes that are at it of all users of targets, targets or not; None where nobody looked."""
    found, asked = [], False
    for path, match in texts.match(PATTERN):
        asked = True
        for line in lines_of(texts.text(path)):
            values = [number(word) for word in words_of(line)]
            if len(values) != 4:
                continue
            tasks, limit, hard, pid = values
            if tasks is not None and limit is not None and pid is not None and tasks >= limit:
                found.append(UserAtLimit(int(match[1]), tasks, limit, hard, pid))
    return found if asked else None


def nearest_of(users: Sequence[UserAtLimit], pids: Collection[int]) -> Sequence[UserAtLimit]:
    """Return the target of each user, among `pids`, that may have least."""
    least: dict[int, UserAtLimit] = {}
    for each in users:
        if each.pid in pids and (each.user not in least or each.limit < least[each.user].limit):
            least[each.user] = each
    return list(least.values())
