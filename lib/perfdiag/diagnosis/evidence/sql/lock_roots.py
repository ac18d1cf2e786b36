"""For what sessions waited that waited for a lock of their database: what its holder was in meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.locks.holder_sentences import ROOTS, does_in_brief
from perfdiag.diagnosis.evidence.session_waits import EVENTS, LOCK, chains_behind, looks_ns, wait_of
from perfdiag.diagnosis.policy import sql_policy
from perfdiag.diagnosis.significance import thread_of
from perfdiag.model.model import Model
from perfdiag.model.waits.postgres_wait_names import CLIENT, IPC, TIMEOUT
from perfdiag.model.waits.postgres_waits import SessionWait
from perfdiag.model.waits.wait_chains import NO_NEWS

_SAID = {CLIENT: "waits for its client", TIMEOUT: "sleeps", IPC: "waits for another process of the server"}


@dataclass(frozen=True)
class Root:
    """What the holders of some locks did while others waited."""

    ns: int  # of what others waited
    part: float  # of all that they waited
    account: str  # "" where nothing is most of it
    object: str  # for people
    tid: int  # of the holder, where it was one; 0: several
    name: str  # of the holder

    said: SessionWait | None = None  # what the holder said it waits for, where the account is nothing but that

    @property
    def does(self) -> str:
        """What it did, as a sentence goes on."""
        said = f" ({self.object})" if self.object else ""
        return f"{self.in_brief if self.said else ROOTS.get(self.account, (self._is_in, ''))[0]}{said}"

    @property
    def in_brief(self) -> str:
        """The same for a headline."""
        if self.said:
            return _SAID.get(self.said.class_, f"waits ({self.said.text})")
        return does_in_brief(self.account)

    @property
    def remedy(self) -> str:
        """What to do about it, "" where the lock's own remedies say so."""
        if self.said:
            return f"let sessions COMMIT before they wait for something else ({self.said.text})"
        return "" if self.account.startswith("cpu.") else ROOTS.get(self.account, ("", ""))[1]

    @property
    def sleeps(self) -> bool:
        """Whether it slept of its own choice."""
        return self.account in NO_NEWS or (self.said is not None and self.said.class_ == TIMEOUT)

    @property
    def _is_in(self) -> str:
        return f"is in {self.account}"


def root_of(model: Model, keys: Sequence[str], waited_ns: int) -> Root | None:
    """Return what holders did most of the time that others waited for locks of these keys; None: hardly known.

    A lock that is the root of another one is one of which it is not known who had it.
    """
    roots: dict[tuple[str, str], int] = {}
    holders: dict[int, int] = {}
    names: dict[tuple[str, str], str] = {}
    for chain in chains_behind(model, keys):
        if chain.root == LOCK:
            continue
        pair = (chain.root, chain.root_key if _tells(model, chain.root, chain.root_key) else "")
        roots[pair] = roots.get(pair, 0) + chain.ns
        names[pair] = chain.root_object if pair[1] else ""
        if tid := chain.root_tid:
            holders[tid] = holders.get(tid, 0) + chain.ns
    known_ns = sum(roots.values())
    if not waited_ns or not known_ns or known_ns + looks_ns(model, keys) < sql_policy.lock_known_share * waited_ns:
        return None
    pair = max(roots, key=lambda each: roots[each])
    tid = max(holders, key=lambda each: holders[each], default=0)
    one = bool(tid) and holders[tid] >= sql_policy.lock_holder_share * known_ns
    thread = thread_of(model, tid) if one else None
    name = thread.name if thread else "sessions in turn"
    unclear = roots[pair] < sql_policy.lock_holder_share * known_ns
    if unclear or roots[pair] < sql_policy.holder_named_share * waited_ns:
        return Root(known_ns, min(1.0, known_ns / waited_ns), "", "", tid if one else 0, name)
    part = min(1.0, roots[pair] / waited_ns)
    return Root(roots[pair], part, pair[0], names[pair], tid if one else 0, name, wait_of(model, pair[1]))


def _tells(model: Model, account: str, key: str) -> bool:
    """Return whether an object is worth a word beside its account."""
    return bool(key) and not (account == EVENTS and wait_of(model, key) is None)
