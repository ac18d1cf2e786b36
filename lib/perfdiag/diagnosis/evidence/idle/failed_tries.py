"""What fails before threads sleep, and is tried again after each pause."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.units import duration, plural
from perfdiag.diagnosis.evidence.idle.failure import Failure
from perfdiag.diagnosis.evidence.idle.failures import call_of, failure_of
from perfdiag.diagnosis.policy import idle_policy
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED, TIMER


@dataclass(frozen=True)
class FailedTries:
    """What failed before many sleeps of some threads."""

    line: schema.FailedCall
    failure: Failure
    account: str  # that these sleeps are booked to
    ns: int  # of the whole window, where calls were watched for a part of it: as much in the rest
    watched_ns: int | None  # how long calls were watched, None: all of the window

    @property
    def headline(self) -> str:
        """Return "bind() of 10.0.0.1:80 fails (EADDRNOTAVAIL), and threads sleep before they try again", or that they
        sleep after such a failure, where it may do no harm."""
        if self.failure.expected:
            return f"Threads sleep, mostly after {self.failure.before}"
        return f"{self.failure.now}, and {self.failure.sleepers}"

    def text(self, code: str) -> str:
        """Return how many sleeps in some code, if that is known, followed such a failure, and how long they were."""
        where = f" in {code}" if code else ""
        took = f"{duration(self.line.sum_ns)}, the longest {duration(self.line.max_ns)}"
        return f"{plural(self.line.sleeps, 'sleep')}{where} after {self.failure.such} take {took}"


def failed_tries(model: Model, threads: Sequence[ThreadLedger]) -> FailedTries | None:
    """Return what failed before most of the sleeps of threads, or before a quarter of them where it comes again and
    again and does harm; None: they followed no failure that was seen.

    Connects are left to those who know their peers.
    """
    least = min(idle_policy.failed_tries_part, idle_policy.failed_tries_share)
    for account in (TIMER, PARKED):
        slept = sums_by_key((thread.comm, thread.ns(account)) for thread in threads)
        all_slept = sums_by_key((thread.comm, thread.ns(account)) for thread in model.threads)
        lines = [
            each
            for each in _children_together(model.failed_calls)
            if each.comm in slept and (each.command or call_of(each) != "connect")
        ]
        for line in sorted(lines, key=lambda each: (each.sum_ns, each.call), reverse=True):
            # Threads that share a name share its lines: what others slept may be all that followed failures.
            watched = 1.0 if line.command else watched_part(model)
            after_failures_ns = line.sum_ns - (all_slept[line.comm] - slept[line.comm]) * watched
            if not 0 < least * slept[line.comm] * watched <= after_failures_ns:
                continue
            found = _found(model, line, account, slept[line.comm])
            if _least_share(found) * slept[line.comm] * watched <= after_failures_ns:
                return found
    return None


def _least_share(found: FailedTries) -> float:
    """Return how much of all sleep has to follow a failure: jobs that pause between tries that succeed sleep, too."""
    repeated = found.line.sleeps >= idle_policy.failed_tries_repeated
    return idle_policy.failed_tries_part if repeated and not found.failure.expected else idle_policy.failed_tries_share


def _children_together(lines: Sequence[schema.FailedCall]) -> list[schema.FailedCall]:
    """Return the lines, those of children that end alike as one: why they did is known where calls were watched."""
    children = groups_by_key(
        ((each.comm, each.pid, each.command, each.exit_code), each) for each in lines if each.command
    )
    return [each for each in lines if not each.command] + [
        msgspec.structs.replace(
            max(alike, key=lambda each: (bool(each.call or each.status), each.sum_ns)),
            sleeps=sum(each.sleeps for each in alike),
            sum_ns=sum(each.sum_ns for each in alike),
            max_ns=max(each.max_ns for each in alike),
        )
        for alike in children.values()
    ]


def _watched_ns(model: Model) -> int | None:
    until = model.footer.calls_watched_until_ns if model.footer else None
    return None if until is None else max(0, until - model.header.start_ns)


def why_not_watched(model: Model) -> str:
    """Return why calls were watched for a part of the window only."""
    if any(line.feature == "failed_calls" for line in model.given_up):
        return "to read their results takes more than --max-cost"
    return "the host makes very many"


def watched_part(model: Model) -> float:
    """Return the part of the window in which calls were watched."""
    ns = _watched_ns(model)
    return 1.0 if ns is None or not model.window_ns else min(1.0, ns / model.window_ns)


def _found(model: Model, line: schema.FailedCall, account: str, slept_ns: int) -> FailedTries:
    return FailedTries(
        line=line,
        failure=failure_of(model, line),
        account=account,
        ns=min(slept_ns, round(line.sum_ns / (1.0 if line.command else watched_part(model)))),
        watched_ns=None if line.command else _watched_ns(model),
    )
