"""Whether threads that wait at a connection or a pipe have asked the other end for something.

Waiting for an answer and waiting for work are the same system call. A call that the recording counts was a request,
unless what was sent is so short that it may be an acknowledgement. A writer that waits for room waits for its reader.
Requests through a pipe are not visible.
"""

from collections.abc import Collection, Sequence

from perfdiag.diagnosis.evidence.system_calls import system_call
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.model.model import Model, Row
from perfdiag.model.stacks.symbols import WAITS_FOR_ROOM
from perfdiag.recording import schema

WRITES = ("write", "writev", "pwrite64", "sendto", "sendmsg", "sendmmsg", "sendfile", "vmsplice")
# They wait for what an empty pipe gets, or for room in a full one.
BOTH_WAYS = ("splice", "tee")


def calls_to(model: Model, keys: Collection[str]) -> list[schema.Exchange]:
    """Return the calls that the target made of the peers `keys`."""
    return [each.line for each in model.exchanges if each.line.direction == "connected" and each.line.object in keys]


def may_acknowledge(model: Model, calls: Sequence[schema.Exchange]) -> bool:
    """Return whether all that was sent is as short as an acknowledgement, and nobody asked the target meanwhile."""
    sent_bytes, count = sum(line.bytes_out for line in calls), sum(line.count for line in calls)
    return 0 < sent_bytes <= requests_policy.acknowledgement_bytes * count and not any(
        each.served for each in model.exchanges
    )


def part_that_writes(model: Model, rows: Sequence[Row]) -> tuple[float | None, bool]:
    """Return which part of the waits at one pipe or socket are for room to write (None: unknown), and whether sampled
    stacks show it."""
    sampled = _in_stacks(model, rows)
    return (_in_calls(model, rows[0].account), False) if sampled is None else (sampled, True)


def _in_stacks(model: Model, rows: Sequence[Row]) -> float | None:
    """Return the part of sampled waits that stand in a function that writes; None without samples."""
    keys, sums = {row.key for row in rows}, {True: 0, False: 0}
    for stack in model.wait_stacks(rows[0].account):
        if stack.object in keys and stack.kernel:
            sums[not WAITS_FOR_ROOM.isdisjoint(stack.kernel)] += stack.weight_ns
    return sums[True] / (sums[True] + sums[False]) if any(sums.values()) else None


def _in_calls(model: Model, account: str) -> float | None:
    """Return the part of the waits of an account that began in calls which write; None without operations that tell,
    and where the account has several objects: operations do not tell them apart."""
    if len({row.key for row in model.rows_of(account)}) > 1:
        return None
    sums = {True: 0, False: 0}
    for operation in model.operations:
        for part in operation.accounts:
            if part.account == account and system_call(operation) not in BOTH_WAYS:
                sums[system_call(operation) in WRITES] += part.sum_ns
    return sums[True] / (sums[True] + sums[False]) if any(sums.values()) else None
