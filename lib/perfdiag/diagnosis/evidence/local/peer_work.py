"""What a process at the other end, on this host, was in while the target waited for it.

The recorder keeps a line of time for each thread that ends waits of the target from outside, and for those that these
wait for in turn. So a peer on this host that answers slowly is told with its own cause. One that waits for events
itself accuses nobody: it may wait for a peer of its own, or, as the target, for work.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import named
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.idle.sleeps import caller_of_sleeps
from perfdiag.diagnosis.evidence.local.peer_doing import DOING, STARTS, WAITS
from perfdiag.diagnosis.evidence.peers import Connections, connections_of, peer_of
from perfdiag.diagnosis.policy import cpu_policy, local_policy
from perfdiag.diagnosis.rule import Mechanism, Remedy
from perfdiag.diagnosis.significance import fix, percent, plain, total_ns
from perfdiag.model.model import Model, Row
from perfdiag.model.stacks.scripts import waits_in
from perfdiag.model.waits.peer_waits import PeerWait
from perfdiag.model.waits.wait_chains import brings_news
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED

_WORTH_A_WORD = 0.25
_LEAST_TOLD = 0.35  # of what is known: less is no cause of most of it
_NEARLY_ALL = 0.9
CALLS = "wait.events"  # the account by which recordings tell calls, however the target waits for their answers


@dataclass(frozen=True)
class PeerWork:
    """What processes at the other end of some waits were in."""

    ns: int  # of the waits, as far as it is known
    idle_ns: int  # of that they waited for something to do
    by_root: dict[str, int]  # the rest by account, the longest first
    who: str  # the process that was in the first of these: "python3 (18958)"
    pid: int
    comm: str
    has_ended: bool  # who it was has ended: `pid` is the process that ended the waits
    through: str  # the process that ended the waits where that is another one, else ""
    objects: Mapping[str, str]  # the one waited for most, by account
    function: str  # in which it mostly was in that, "" if no stack tells

    @property
    def is_idle(self) -> bool:
        """Whether who is waited for was idle for so long that it may have waited for its own peers, whatever else an
        event loop did meanwhile for others; or nothing that it did is a good part of it."""
        idle = self.idle_ns >= local_policy.peer_idle_share * self.ns
        return idle or self.by_root[self.first] < _LEAST_TOLD * self.ns

    @property
    def had_nothing(self) -> bool:
        """Whether it waited for events itself in nearly all of the waits: for an answer, or for what to answer."""
        return self.idle_ns >= _NEARLY_ALL * self.ns

    @property
    def first(self) -> str:
        """The account that it was in for most of the time."""
        return next(iter(self.by_root), "")

    def part(self, account: str) -> str:
        """Return the part of the waits that it was in an account."""
        return percent(self.by_root[account] / self.ns)

    @property
    def doing(self) -> str:
        """What it does: "sleeps in serve (server.py:12)", with shares and a second account where that is not all."""
        where = f" in {self.function}" if self.function else ""
        told = f"{self._words(self.first)}{where}"
        if self.by_root[self.first] >= _NEARLY_ALL * self.ns:
            return told
        second = [each for each in list(self.by_root)[1:2] if self.by_root[each] >= _WORTH_A_WORD * self.ns]
        return " and ".join(
            [f"{told} ({self.part(self.first)})", *(f"{self._words(each)} ({self.part(each)})" for each in second)]
        )

    @property
    def name(self) -> str:
        """The process that ended the waits."""
        return self.through or self.who

    @property
    def sentence(self) -> str:
        """What that process does, without its name: "sleeps", "waits for cache (77), which sleeps", "sleeps in a
        thread or child that has ended"."""
        if self.has_ended:
            return f"{self.doing} in a thread or child that has ended"
        return f"waits for {self.who}, which {self.doing}" if self.through else self.doing

    def _words(self, account: str) -> str:
        known = DOING.get(account)
        if known is None:
            return f"is in {plain(account)}"
        return known.words.format(object=self.objects.get(account) or known.otherwise)

    @property
    def mechanism(self) -> Mechanism:
        """How it takes time."""
        known = DOING.get(self.first)
        return known.mechanism if known else Mechanism.SLOW

    @property
    def remedy(self) -> Remedy:
        """What to do about the first account."""
        where = f"{self.function} of {self.who}" if self.function else self.who
        text = STARTS if self.has_ended else DOING.get(self.first, WAITS).remedy
        measure = f"perfdiag latency --pid {self.pid}"
        object = self.objects.get(self.first) or "it"
        return fix(text.format(who=self.who, where=where, pid=self.pid, object=object, measure=measure))


def of_waits(model: Model, rows: Sequence[Row]) -> PeerWork | None:
    """Return what the other end of these waits was in; None where that is not known of half of their time.

    Of waits in poll() the recorder knows no socket at their end, but calls that were answered meanwhile it does.
    """
    ns, keys = total_ns(rows), {row.key for row in rows}
    # Who else wakes a thread that waits for answers in poll() is not the one that gives them.
    answer = {
        each.line.peer_pid for each in model.peer_waits if each.line.account == CALLS and each.line.object in keys
    }
    known = _work(model, {(row.account, row.key) for row in rows}, ns, answer)
    return known or _work(model, {(CALLS, key) for key in keys}, ns)


def of_calls(model: Model, object: str, ns: int) -> PeerWork | None:
    """Return the same of calls to a peer that took so long together, however the target waited for them."""
    return _work(model, {(CALLS, object)}, ns)


def _work(model: Model, places: set[tuple[str, str]], whole_ns: int, only: Collection[int] = ()) -> PeerWork | None:
    """Return what is known of waits at some places, if that is enough; only: processes that count, () is all."""
    at = [each for each in model.peer_waits if (each.line.account, each.line.object) in places]
    known = [each for each in at if not only or each.line.peer_pid in only]
    ns = sum(each.line.sum_ns for each in known)
    if not ns or ns < local_policy.peer_seen_share * whole_ns:
        return None
    own = {thread.pid for thread in model.threads}
    connections = connections_of(model)
    busy = [each for each in known if not _is_idle(each, own, connections)]
    by_root = dict(sums_by_key((_root(each), each.line.sum_ns) for each in busy).most_common())
    first = next(iter(by_root), "")
    most = next((each for each in busy if _root(each) == first), known[0])
    line, peer = most.line, plain(named(most.line.peer_comm, most.line.peer_pid))
    pid, comm = (line.root_pid, line.root_comm) if line.root_pid else (line.peer_pid, line.peer_comm)
    who = plain(named(comm, pid)) if line.root_pid else "a thread or child of its own that has ended"
    objects: dict[str, str] = {}
    for each in busy:
        objects.setdefault(_root(each), plain(each.root_object))
    return PeerWork(
        ns=ns,
        idle_ns=ns - sum(each.line.sum_ns for each in busy),
        by_root=by_root,
        who=who,
        pid=pid,
        comm=comm,
        has_ended=not line.root_pid,
        through=peer if who != peer else "",
        objects=objects,
        function=_function(model, pid, line.root_tid, first) if line.root_pid else "",
    )


def _root(each: PeerWait) -> str:
    return "cpu.user" if each.line.root == "cpu.kernel" else each.line.root


def _is_idle(each: PeerWait, own: set[int], connections: Connections) -> bool:
    """Return whether who is waited for waits for something to do, as one that receives datagrams from anybody; blocked
    or idle, unknown, is taken for that, too, and so is a wait for the target itself: nobody is accused of it."""
    line = each.line
    if brings_news(line.root) or line.root == PARKED or line.root_pid in own:
        return True
    at = peer_of(line.root_object)
    return at is not None and (at.unconnected or connections.answered_here(line.root_object))


def _function(model: Model, pid: int, tid: int, account: str) -> str:
    """Return the function in which a thread of a process mostly computed, or began to wait; "" if no stack tells.

    A stack that several threads share stands with the first of them. Then it counts if the process has no other.
    """
    stacks = [stack for stack in model.peer_stacks if stack.pid == pid and _is_in(stack, account)]
    own = [stack for stack in stacks if stack.tid == tid]
    if own:
        return _name(model, pid, own, account)
    names = {_name(model, pid, [stack], account) for stack in stacks}
    return names.pop() if len(names) == 1 else ""


def _is_in(stack: schema.PeerStack, account: str) -> bool:
    return stack.kind == "cpu" if account == "cpu.user" else stack.kind == "wait" and stack.account == account


def _name(model: Model, pid: int, stacks: Sequence[schema.PeerStack], account: str) -> str:
    if account == "cpu.user":
        samples = CpuSamples(replace(model, stacks=stacks), pid)
        own = samples.hot_path()[:1] or samples.hottest(1)
        return plain(own[0].name) if own and own[0].part.share >= cpu_policy.hot_spot_share else ""
    if account == "wait.timer":
        return caller_of_sleeps(stacks)
    weights = sums_by_key((waits_in(stack), stack.weight_ns or 1) for stack in stacks)
    return plain(max(weights, key=lambda name: (weights[name], name), default=""))
