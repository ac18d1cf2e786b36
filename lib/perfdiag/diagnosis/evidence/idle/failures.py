"""What fails before threads sleep, in words: a system call, or a question that is answered with an error."""

from dataclasses import dataclass

from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.debuggers import shown_pid
from perfdiag.diagnosis.evidence.idle import call_errors
from perfdiag.diagnosis.evidence.requests import error_statuses
from perfdiag.diagnosis.significance import brief, plain
from perfdiag.model.model import Model
from perfdiag.recording import schema


@dataclass(frozen=True)
class Failure:
    """One thing that is tried in vain."""

    now: str  # "bind() of 10.0.0.1:80 fails (EADDRNOTAVAIL)"
    before: str  # "bind() of 10.0.0.1:80 failed (EADDRNOTAVAIL)"
    again: str  # what follows the sleep: "try again"
    such: str  # "such a failure"
    why: str  # "EADDRNOTAVAIL: this host has no such address"
    remedy: str
    fixed: str  # "bind() succeeds"
    expected: bool  # nothing may be wrong
    standby: bool  # somebody who waits for its turn looks the same
    hook: str


def failure_of(model: Model, line: schema.FailedCall) -> Failure:
    """Return what a line is about."""
    return _answer(model, line) if line.status else _call(model, line)


def call_of(line: schema.FailedCall) -> str:
    """Return the name of the system call; "": it is none."""
    return printable(line.call.removeprefix("syscall:"))


def _call(model: Model, line: schema.FailedCall) -> Failure:
    call, error = call_of(line), call_errors.name_of(line.error)
    why, remedy = call_errors.meaning_of(call, line.error)
    what = printable(line.file) or line.object.partition(" (inode ")[0]
    of = f"{call}() of {brief(what)}" if what else f"{call}()"
    return Failure(
        now=f"{of} fails ({error})",
        before=f"{of} failed ({error})",
        again="try again",
        such="such a failure",
        why=f"{error}: {why}",
        remedy=remedy.replace("PID", shown_pid(model, line.pid)),
        fixed=f"{call}() succeeds",
        expected=call_errors.is_expected(call, line.error),
        standby=call_errors.may_be_standby(call, line.error),
        hook="sys_exit",
    )


def _answer(model: Model, line: schema.FailedCall) -> Failure:
    status = error_statuses.name_of(printable(line.status))
    peer = brief(plain(line.object) or "a peer")
    asked = plain(line.request) or "what it is asked"
    why, remedy = error_statuses.meaning_of(line.status)
    return Failure(
        now=f"{peer} answers {asked} with {status}",
        before=f"{peer} answered {asked} with {status}",
        again="ask again",
        such="such an answer",
        why=f"{status}{_times(model, line)}: {why}",
        remedy=remedy,
        fixed=f"{asked} is not answered with {status}",
        expected=error_statuses.is_expected(line.status),
        standby=False,
        hook="sockets",
    )


def _times(model: Model, line: schema.FailedCall) -> str:
    """Return " (12 of 14 answers)", as far as that is known."""
    peers = {each.line.object for each in model.exchanges if each.object == line.object and not each.served}
    calls = [each for each in model.named_calls if each.object in peers and each.name == line.request]
    errors = [each for each in model.answers if each.object in peers and each.name == line.request]
    answered = sum(each.count for each in calls)
    refused = sum(each.count for each in errors if each.status == line.status and each.direction == "connected")
    return f" ({min(refused, answered):,} of {answered:,} answers)" if refused and answered else ""
