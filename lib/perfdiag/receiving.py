"""Calls that receive: message queues, semaphores of System V, devices, terminals, netlink, the opening of a FIFO.

Who waits in one waits for work or for an answer, and nothing shows which: it is parked, as on a futex.  The call tells,
and of an opening its sampled kernel stacks do; those of one that had begun before the recording are not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

import msgspec

from perfdiag import schema

OTHER, PARKED = "kernel.other", "wait.parked"
CALL = "syscall:"
# Some have twins of 64-bit times where words have 32.
_RECEIVE = frozenset(
    {"msgrcv", "semop", "semtimedop", "semtimedop_time64", "mq_timedreceive", "mq_timedreceive_time64"}
    | {"read", "readv", "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64"}  # all else that is read has accounts
)
OPEN = frozenset({"open", "openat", "openat2"})
_OPENS_FIFO = frozenset({"fifo_open", "wait_for_partner"})


class Receiving:
    """Which waits of a recording that the kernel side booked as other ones are in calls that receive."""

    def __init__(
        self, threads: Iterable[schema.Thread], details: Iterable[schema.Detail], stacks: Iterable[schema.Stack]
    ) -> None:
        self._fifos = _of_fifos(stacks, {line.pid for line in threads if line.state == "alive"})
        waits: defaultdict[int, dict[bool, int]] = defaultdict(lambda: {True: 0, False: 0})
        for line in details:
            if line.account == OTHER:
                waits[line.pid][self.account(line.pid, line.account, line.object) == PARKED] += line.sum_ns
        self._parts = {pid: of[True] / sum(of.values()) for pid, of in waits.items() if any(of.values())}

    def account(self, pid: int, account: str, object: str) -> str:
        """Return the account of a wait: `account`, or parked."""
        receives = object.removeprefix(CALL) in _RECEIVE or (pid, object) in self._fifos
        return PARKED if account == OTHER and object.startswith(CALL) and receives else account

    def part(self, pid: int) -> float:
        """Return the part that is parked of what a process (0: those that ended) has of other waits.

        One that has ended may have a pid, and its details stand with those of all that have.
        """
        return self._parts.get(pid, self._parts.get(0, 0.0))

    def of_stack(self, stack: schema.Stack) -> schema.Stack:
        """Return a sampled stack with its account."""
        account = self.account(stack.pid, stack.account, stack.object)
        return stack if account == stack.account else msgspec.structs.replace(stack, account=account)

    def of_operation(self, operation: schema.Operation) -> schema.Operation:
        """Return an operation with the accounts of its waits."""
        if operation.name.removeprefix(CALL) not in _RECEIVE:
            return operation
        return msgspec.structs.replace(
            operation, accounts=_parked(operation.accounts), over_slo_accounts=_parked(operation.over_slo_accounts)
        )


def _of_fifos(stacks: Iterable[schema.Stack], alive: Collection[int]) -> set[tuple[int, str]]:
    """Return the openings, by process (0: those that ended) and object, most of whose sampled waits are of FIFOs."""
    sums: defaultdict[tuple[int, str], dict[bool, int]] = defaultdict(lambda: {True: 0, False: 0})
    for stack in stacks:
        if stack.kind == "wait" and stack.account == OTHER and stack.object.removeprefix(CALL) in OPEN:
            for pid in {stack.pid} if stack.pid in alive else {stack.pid, 0}:
                sums[pid, stack.object][not _OPENS_FIFO.isdisjoint(stack.kernel)] += stack.weight_ns or 1
    return {key for key, of in sums.items() if of[True] > of[False]}


def _parked(sums: Iterable[schema.AccountSum]) -> list[schema.AccountSum]:
    return [msgspec.structs.replace(each, account=PARKED) if each.account == OTHER else each for each in sums]


__all__ = ["CALL", "OPEN", "Receiving"]
