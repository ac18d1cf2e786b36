"""Lines of recordings that scripts print (tools/ledger.bt, dtrace/ledger.d): made into those that the recorder writes.

Neither bpftrace nor DTrace can escape a text, their programs must be short, and D has no loops.  So in their
recordings, known by `accounts` in the header, three things differ: a sum may name its account by its place in that
list, `comm` is the last field of its line, with nothing in it escaped, and `state` may be the place of the account that
the thread is in from `at_ns` on.  perfdiag-recording(5) has this under SCRIPTS.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import msgspec

from perfdiag.recording import schema
from perfdiag.recording.packed_numbers import Columns, Sums, added

# What bpftrace says before its script does, on the same output, unless it is told to be quiet.
GREETING = re.compile(rb"Attach(?:ing|ed) [0-9]+ probes?(?:\.\.\.)?\n")

_PLACE = re.compile(rb"\[([0-9]{1,2}),")
_AT = re.compile(rb'"at_ns":([0-9]{1,20}),')
_STATE = re.compile(rb'"state":(-1|[0-9]{1,2}),')
_COMM, _END = b',"comm":"', b'"}'
_NO_PLACES = (b'{"type":"fact"', b'{"type":"header"')  # the recorder writes these, and their texts may have "[0,"
COMM_BYTES = 15  # of a thread's name at the most


class ScriptLines:
    """Makes the lines of one recording proper."""

    def __init__(self, accounts: Sequence[str]) -> None:
        """`accounts` are those of the header."""
        self._names = [msgspec.json.encode(name) for name in accounts]

    def lines_of_name(self, line: bytes, following: Callable[[int], bytes]) -> int:
        """Return how many of the `following` lines (by their place) still belong to the name that ends a line.

        A name may hold what ends a line. Then the name ends later: no line is as short as the rest of a name.
        """
        _, mark, comm = line.partition(_COMM)
        number = taken = 0
        while mark and len(comm) <= COMM_BYTES + len(_END) + 1 and comm.endswith(b"\n"):
            if comm.endswith(_END + b"\n"):
                taken = number
            if not (more := following(number)):
                break
            comm, number = comm + more, number + 1
        return taken

    def proper(self, line: bytes) -> bytes:
        """Return a line as the recorder would have written it; one that is cut off, or foreign, as it is."""
        if line.startswith(_NO_PLACES):
            return line
        head, mark, rest = line.partition(_COMM)
        if mark and rest.rstrip(b"\n").endswith(_END):
            comm = rest.rstrip(b"\n").removesuffix(_END)
            end = b"\n" if line.endswith(b"\n") else b""
            rest = msgspec.json.encode(comm.decode("utf-8", "replace")).removeprefix(b'"') + b"}" + end
        return _PLACE.sub(self._named, self._stated(head)) + mark + rest

    def _stated(self, head: bytes) -> bytes:
        at = _AT.search(head)
        state = _STATE.search(head, at.end()) if at else None
        if not at or not state or (number := int(state[1])) >= len(self._names):
            return head
        told = b'"state":"exited",'
        if number >= 0:
            told = b'"state":"alive","open":{"account":%b,"object":"","since_ns":%b},' % (self._names[number], at[1])
        return head[: state.start()] + told + head[state.end() :]

    def _named(self, place: re.Match[bytes]) -> bytes:
        number = int(place[1])
        return b"[%b," % self._names[number] if number < len(self._names) else place[0]


def until(end_ns: int, line: schema.Thread) -> schema.Thread:
    """Return a row as it is at the end of the window, of a thread that has been in one account since it was written."""
    rest_ns = end_ns - line.at_ns
    if not line.open or line.open.since_ns != line.at_ns or rest_ns <= 0:
        return line
    account, runs = line.open.account, line.open.account.startswith("cpu.")
    had = next((each for each in line.accounts if each.account == account), schema.AccountSum(account, 0, 0, 0))
    longest_ns = had.max_ns if runs else max(had.max_ns, rest_ns)
    now = schema.AccountSum(account, had.sum_ns + rest_ns, had.count + 1, longest_ns)
    return msgspec.structs.replace(
        line,
        at_ns=end_ns,
        wall_ns=line.wall_ns + rest_ns,
        user_ns=line.user_ns + (rest_ns if account == "cpu.user" else 0),
        kernel_ns=line.kernel_ns + (rest_ns if account == "cpu.kernel" else 0),
        accounts=[*(each for each in line.accounts if each.account != account), now],
        open=None if runs else line.open,
    )


def details_of(header: schema.Header, threads: Iterable[schema.Thread]) -> dict[tuple[int, str, str], schema.Detail]:
    """Return the waits of the process by account, for nothing in particular: a script tells no object of them."""
    pid = header.targets[0].pid
    return {
        (pid, account, ""): schema.Detail(
            pid=pid, account=account, object="", sum_ns=sum_ns, count=count, max_ns=max_ns, buckets=[]
        )
        for account, (sum_ns, count, max_ns) in added(_columns(line.accounts) for line in threads).items()
        if sum_ns and not account.startswith("cpu.")
    }


def _columns(sums: Sequence[schema.AccountSum]) -> Columns:
    if isinstance(sums, Sums):
        return sums.columns()
    return tuple(each.account for each in sums), tuple(
        chain.from_iterable((each.sum_ns, each.count, each.max_ns) for each in sums)
    )
