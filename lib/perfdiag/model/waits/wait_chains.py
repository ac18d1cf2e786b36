"""For what threads waited that waited for each other: the root of their waits, and the way there.

The recorder finds both at each wake-up, to the nanosecond; here they get the accounts and names that the rows have.  It
is a second view on the same time: nothing of it is ever added to an account.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perfdiag.model.waits import postgres_waits
from perfdiag.recording import schema
from perfdiag.recording.accounts import Kind, kind_of

# A thread that was in the root for less of the time is one of several that take turns.
MAJORITY = 0.5
ARROW = " -> "
EVENTS = "wait.events"
ADDRESS = "futex:"  # of a lock that has no other name
# Idle, but nothing comes by it that others could be told of: somebody chose it, or another thread's time is behind it.
NO_NEWS = frozenset({"wait.timer", "wait.child", "wait.stopped"})


@dataclass(frozen=True)
class Chain:
    """Waits on one object that had one root, the same way."""

    account: str
    key: str  # as in Row, the pid too
    pid: int
    steps: tuple[str, ...]  # accounts in between
    cut: bool  # there were more of them, next to the root
    root: str
    root_key: str
    root_object: str  # for people
    root_tid: int  # one thread that was in the root most of the time, 0: several, or not known
    ns: int
    count: int
    inside: bool = False  # of threads in the middle of a request
    some_tid: int = 0  # where several were in the root, one that was in it for long
    lock: str = ""  # what the lock is called that was waited for, where it has a name

    @property
    def path(self) -> str:
        """The way from the wait to its root: "lock.futex the GIL -> ipc.pipe -> disk.flush vda (254:0)"."""
        root = f"{self.root} {self.root_object}".rstrip()
        wait = f"{self.account} {self.lock}".rstrip()
        return ARROW.join([wait, *self.steps, *(["..."] if self.cut else []), root])


def brings_news(root: str) -> bool:
    """Return whether who is in this account waits for what is to come from outside, and then may tell others."""
    return kind_of(root) is Kind.IDLE and root not in NO_NEWS


def own_account(line: schema.Because | Chain) -> str:
    """Return in what the thread itself was that was waited for; its own wait may have another root."""
    return line.steps[0] if line.steps else line.root


def is_for_answer(line: schema.Because) -> bool:
    """Return whether the thread at the root waited for events, and came with the answer of a peer of its own."""
    return line.root == EVENTS and bool(line.root_object) and not line.root_object.startswith(postgres_waits.PREFIX)


def chains_of(
    lines: Iterable[schema.Because],
    pids: dict[int, int],
    booked: Callable[[int, str, str], tuple[str, str]],
    resolve: Callable[[str], str],
    stopped_by: Callable[[schema.Because], tuple[str, str] | None] = lambda line: None,
) -> list[Chain]:
    """Return the chains of a recording, the longest first; pids: the process of each thread.

    booked: where an account and object of a process stand in the rows; resolve: an object for people; stopped_by: where
    the time of threads stands whose wait ends at one that stops them meanwhile.
    """
    found = []
    for line in lines:
        account, key = booked(line.pid, line.account, line.object)
        root, root_key = booked(pids.get(line.root_tid, line.pid), line.root, line.root_object)
        steps = tuple(line.steps)
        if stopped := stopped_by(line):
            root, root_key = stopped
            steps = steps[:-1]  # the wait for this thread
        if (account, key) == (root, root_key):
            continue  # of a lock with several words: it waits for itself
        one = line.root_tid if line.root_tid_ns >= MAJORITY * line.sum_ns else 0
        found.append(
            Chain(
                account,
                key,
                line.pid,
                steps,
                line.cut,
                root,
                root_key,
                resolve(root_key),
                one,
                line.sum_ns,
                line.count,
                line.inside,
                line.root_tid,
                resolve(key) if account.startswith("lock.") and not key.startswith(ADDRESS) else "",
            )
        )
    return sorted(found, key=lambda chain: (-chain.ns, chain.account, chain.key, chain.root, chain.root_key))
