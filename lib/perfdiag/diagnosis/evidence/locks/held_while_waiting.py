"""Locks that threads of the target hold while they wait for the answer to a call of their own.

Each thread behind such a lock waits for that answer, too, so a slow peer is only half of the cause. The lock is the
target's own: if it is released before the call, others wait no longer, however slow the peer is. This does not apply to
waits for room in a pipe or a connection: the next holder would wait for the same room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfdiag.diagnosis.rule import RULES, Finding, Severity
from perfdiag.diagnosis.significance import brief, duration, fault, fix, plain
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import PEERS
from perfdiag.model.waits.wait_chains import Chain

LOCKS, OF_FILE = "lock.", "lock.file"
# Waits of a thread that take nothing from others.
ANSWERS = (PEERS, "net.receive", "net.connect", "ipc.unix")


def with_held_locks(model: Model, finding: Finding, behind: Mapping[Chain, int]) -> Finding:
    """Return a finding on somebody else, with the lock that the target holds meanwhile if that delays others.

    `behind`: how long others waited behind the finding, by the way of their waits.
    """
    locks: dict[tuple[str, str], int] = {}
    names: dict[tuple[str, str], str] = {}
    calls: dict[tuple[str, str], str] = {}
    for chain, ns in behind.items():
        if chain.account.startswith(LOCKS) and chain.root in ANSWERS:
            pair = (chain.account, chain.key)
            locks[pair] = locks.get(pair, 0) + ns
            names[pair] = _name(chain)
            calls[pair] = f"calling {brief(plain(chain.root_object))}" if chain.root_object else "that call"
    ns = sum(locks.values())
    is_others = finding.id in RULES and RULES[finding.id].elsewhere
    if not is_others or fault(model, ns) is Severity.INFO:
        return finding
    most = max(locks, key=lambda pair: (locks[pair], pair))
    name = names[most]
    release = fix(f"release {name} before {calls[most]}: it saves others {duration(ns)} of waiting")
    return replace(
        finding,
        claim=f"{finding.claim} Threads hold {name} meanwhile.",
        headline=f"{finding.headline}; threads hold {name} meanwhile",
        remedies=[release, *finding.remedies],
        inside=True,
    )


def _name(chain: Chain) -> str:
    """Return the name of the lock, short enough for a headline."""
    if not chain.lock:
        return "a lock"
    name = brief(plain(chain.lock.partition(" (inode ")[0]))
    return f"the lock on {name}" if chain.account == OF_FILE else name


__all__ = ["ANSWERS", "with_held_locks"]
