"""Locks that threads of the target hold while they wait for the answer to a call of their own.

Each thread behind such a lock waits for that answer, too, so a slow peer is only half of the cause. The lock is the
target's own: if it is released before the call, others wait no longer, however slow the peer is. This does not apply to
waits for room in a pipe or a connection: the next holder would wait for the same room. But each client has a connection
of its own, with room of its own.
"""

from collections.abc import Mapping
from dataclasses import replace

from perfdiag.diagnosis.evidence.locks.lock_remedies import of_server, waiting_code
from perfdiag.diagnosis.rule import RULES, Finding, Severity
from perfdiag.diagnosis.significance import brief, duration, fault, fix, plain
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import PEERS
from perfdiag.model.stacks.symbols import symbol_of
from perfdiag.model.waits.wait_chains import Chain

LOCKS, OF_FILE, NAMELESS = "lock.", "lock.file", "a lock"
# Waits of a thread that take nothing from others.
ANSWERS = (PEERS, "net.receive", "net.connect", "ipc.unix")
SLOW_CLIENT, SEND = "NET-SLOW-CLIENT", "net.send"


def with_held_locks(model: Model, finding: Finding, behind: Mapping[Chain, int]) -> Finding:
    """Return a finding on somebody else, with the lock that the target holds meanwhile if that delays others.

    `behind`: how long others waited behind the finding, by the way of their waits.
    """
    locks: dict[tuple[str, str], int] = {}
    names: dict[tuple[str, str], str] = {}
    calls: dict[tuple[str, str], str] = {}
    for chain, ns in behind.items():
        to_client = chain.root == SEND and finding.id == SLOW_CLIENT
        if chain.account.startswith(LOCKS) and (to_client or chain.root in ANSWERS):
            pair = (chain.account, chain.key)
            locks[pair] = locks.get(pair, 0) + ns
            names[pair] = _name(chain)
            verb, that = ("sending to", "that is sent") if to_client else ("calling", "that call")
            calls[pair] = f"{verb} {brief(plain(chain.root_object))}" if chain.root_object else that
    ns = sum(locks.values())
    is_others = finding.id in RULES and RULES[finding.id].elsewhere
    if not is_others or fault(model, ns) is Severity.INFO:
        return finding
    most = max(locks, key=lambda pair: (locks[pair], pair))
    name = names[most]
    lock = _wanted(model, *most) if name == NAMELESS else name
    release = fix(f"release {lock} before {calls[most]}: it saves others {duration(ns)} of waiting")
    return replace(
        finding,
        claim=f"{finding.claim} Threads hold {name} meanwhile.",
        headline=f"{finding.headline}; threads hold {name} meanwhile",
        remedies=[*(of_server(most[1]) or [release]), *finding.remedies],
        inside=True,
    )


def _name(chain: Chain) -> str:
    """Return the name of the lock, short enough for a headline."""
    if not chain.lock:
        return NAMELESS
    name = brief(plain(chain.lock.partition(" (inode ")[0]))
    return f"the lock on {name}" if chain.account == OF_FILE else name


def _wanted(model: Model, account: str, key: str) -> str:
    """Return how to call a lock without a name: by the function that waits for it most of the time, if that has one."""
    code = waiting_code(model, account, key)
    most = symbol_of(max(code, key=lambda name: code[name], default=""))
    return f"the lock that {most} waits for" if most else NAMELESS
