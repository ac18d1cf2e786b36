"""What a process at the other end, on this host, was in while the target waited for it.

The recorder keeps a line of time for each thread that ends waits of the target from outside, and for those that these
wait for in turn. So a peer on this host that answers slowly is told with its own cause. One that waits for events
itself accuses nobody: it may wait for a peer of its own, or, as the target, for work.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.local.peer_doing import DOING, STARTS, WAITS, agreeing
from perfdiag.diagnosis.evidence.local.peer_functions import function_of
from perfdiag.diagnosis.evidence.local.peer_parts import (
    LEAST_TOLD,
    SEVERAL,
    Doer,
    Part,
    crowd_of,
    doer_of_most,
    ns_of,
    parts_of,
    peer_of_most,
    root_of,
)
from perfdiag.diagnosis.evidence.peers import Connections, connections_of, peer_of
from perfdiag.diagnosis.policy import local_policy
from perfdiag.diagnosis.rule import Mechanism, Remedy
from perfdiag.diagnosis.significance import fix, percent, plain, total_ns
from perfdiag.model.model import Model, Row
from perfdiag.model.waits.calls_for_work import WAITING_COMMANDS
from perfdiag.model.waits.peer_waits import PeerWait
from perfdiag.model.waits.wait_chains import brings_news
from perfdiag.recording.accounts import PARKED

_WORTH_A_WORD = 0.25
_NEARLY_ALL = 0.9
_SEVERAL_NAMED = 3
CALLS = "wait.events"  # the account by which recordings tell calls, however the target waits for their answers


@dataclass(frozen=True)
class PeerWork:
    """What processes at the other end of some waits were in."""

    ns: int  # of the waits, as far as it is known
    idle_ns: int  # of that they waited for something to do
    idle: Doer | None  # who mostly did, None: several
    by_root: dict[str, int]  # the rest by account, the longest first
    parts: Sequence[Part]  # the same by who it was; in front whose the first account mostly was
    peer: Doer | None  # who ended most of the waits, None: several
    crowd: str  # these, in words
    function: str  # in which the first part mostly was, "" if no stack tells

    @property
    def is_idle(self) -> bool:
        """Whether who is waited for was idle for so long that it may have waited for its own peers, whatever else an
        event loop did meanwhile for others; or nothing that it did is a good part of it."""
        idle = self.idle_ns >= local_policy.peer_idle_share * self.ns
        return idle or self.by_root[self.first] < LEAST_TOLD * self.ns

    @property
    def had_nothing(self) -> bool:
        """Whether it waited for events itself in nearly all of the waits: for an answer, or for what to answer."""
        return self.idle_ns >= _NEARLY_ALL * self.ns

    @property
    def first(self) -> str:
        """The account that it was in for most of the time."""
        return next(iter(self.by_root), "")

    @property
    def subject(self) -> Doer | None:
        """Who a sentence on it begins with: the process that ended the waits, None: several."""
        doer = self.parts[0].doer if self.parts else None
        return doer if doer and doer.is_peer else self.peer

    @property
    def sentence(self) -> str:
        """What it does: "cache (77) waits for store (88), which sleeps"."""
        return self.says(self.name)

    @property
    def waits_itself(self) -> str:
        """That it did nothing: "cache (77) waits for events itself"."""
        return f"{self.peer.name} waits for events itself" if self.peer else f"{self.crowd} wait for events"

    @property
    def name(self) -> str:
        """That process, in words."""
        return self.subject.name if self.subject else self.crowd

    def says(self, who: str) -> str:
        """Return what it does, under its name or "it": "it sleeps", "it waits for store (88), which sleeps", "behind
        it, store (88) computes (55 %) and disk (89) sleeps (45 %)", "several processes sleep"."""
        told, waits = self._told, agreeing("waits", self.subject)
        own = [self._words(part) for part in told if part.doer and part.doer.is_peer]
        others = groups_by_key((part.who, part) for part in told if not part.doer or not part.doer.is_peer)
        behind = {other: " and ".join(map(self._words, parts)) for other, parts in others.items()}
        if len(behind) > 1:
            inside = {part.doer.pid for part in told if part.doer} == {self.peer and self.peer.pid}
            clauses = [f"{other} {words}" for other, words in behind.items()]
            return f"{'in' if inside else 'behind'} {who}, {' and '.join(clauses)}"
        if not self.subject and not told[0].doer:
            return f"{who} {self._words(told[0])}"
        return f"{who} {' and '.join([*own, *(f'{waits} for {other}, which {behind[other]}' for other in behind)])}"

    @property
    def _told(self) -> list[Part]:
        """What is worth a word: the first, and a part of another one that surely is behind the same process, or else
        another part of its own."""
        first, *more = self.parts
        if not first.doer or first.ns >= _NEARLY_ALL * self.ns:
            return [first]
        large = [part for part in more if part.doer and part.ns >= _WORTH_A_WORD * self.ns]
        others = [part for part in large if self.peer and part.doer != first.doer]
        return [first, *(others or [part for part in large if part.doer == first.doer])[:1]]

    def _words(self, part: Part) -> str:
        """Return what somebody does, with its share where that is not all."""
        known = DOING.get(part.root)
        words = known.words if known else f"is in {plain(part.root)}"
        if known:
            words = words.format(object=part.object or known.otherwise)
        where = f" in {self.function}" if self.function and part is self.parts[0] else ""
        share = "" if part.ns >= _NEARLY_ALL * self.ns else f" ({percent(part.ns / self.ns)})"
        ended = " in a thread or child that has ended" if part.doer and part.doer.has_ended else ""
        return f"{agreeing(words, part.doer)}{where}{share}{ended}"

    @property
    def mechanism(self) -> Mechanism:
        """How it takes time."""
        known = DOING.get(self.first)
        return known.mechanism if known else Mechanism.SLOW

    @property
    def remedy(self) -> Remedy:
        """What to do about the first account."""
        first = self.parts[0]
        ended = first.doer is not None and first.doer.has_ended
        text = STARTS if ended else DOING.get(self.first, WAITS).remedy
        pid = self.others[0].pid if self.others else first.lines[0].line.peer_pid
        several = [each.name for each in self.others if each.comm]
        listed = several and not first.doer and (first.who == SEVERAL or len(several) <= _SEVERAL_NAMED)
        who = first_of(several, _SEVERAL_NAMED) if listed else first.who
        return fix(
            text.format(
                who=who,
                where=f"{self.function} of {who}" if self.function else who,
                waits=agreeing("waits", first.doer),
                pid=pid,
                object=first.object or "it",
                measure=f"perfdiag latency --pid {pid}",
            )
        )

    @property
    def others(self) -> list[Doer]:
        """Those that were in the first account, the longest first."""
        doers = {part.doer.pid: part.doer for part in reversed(self.parts) if part.doer and part.root == self.first}
        return [self.parts[0].doer] if self.parts[0].doer else list(doers.values())[::-1]


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
    if not ns or ns < local_policy.peer_seen_share * whole_ns or _asks_for_work(model, {key for _, key in places}):
        return None
    own = {thread.pid for thread in model.threads}
    connections = connections_of(model)
    by_idle = groups_by_key((_is_idle(each, own, connections), each) for each in known)
    idle, busy = by_idle.get(True, []), by_idle.get(False, [])
    by_root = dict(sums_by_key((root_of(each), each.line.sum_ns) for each in busy).most_common())
    parts = parts_of(busy, next(iter(by_root)), ns) if busy else []
    return PeerWork(
        ns=ns,
        idle_ns=ns_of(idle),
        idle=doer_of_most(idle),
        by_root=by_root,
        parts=parts,
        peer=peer_of_most(known),
        crowd=crowd_of([(each.line.peer_pid, each.line.peer_comm) for each in known]),
        function=function_of(model, parts[0]) if parts else "",
    )


def _asks_for_work(model: Model, keys: Collection[str]) -> bool:
    """Return whether a part of the calls there are to be answered late: what the peer did in those is no cause."""
    asking_ns = sum(each.sum_ns for each in model.named_calls if each.object in keys and each.name in WAITING_COMMANDS)
    calls = (each.line for each in model.exchanges if not each.served and each.line.object in keys)
    return asking_ns > local_policy.peer_idle_share * sum(line.sum_ns for line in calls)


def _is_idle(each: PeerWait, own: set[int], connections: Connections) -> bool:
    """Return whether who is waited for waits for something to do, as one that receives datagrams from anybody; blocked
    or idle, unknown, is taken for that, too, and so is a wait for the target itself: nobody is accused of it."""
    line = each.line
    if brings_news(line.root) or line.root == PARKED or line.root_pid in own:
        return True
    at = peer_of(line.root_object)
    return at is not None and (at.unconnected or connections.answered_here(line.root_object))
