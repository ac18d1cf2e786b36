"""What fails before threads sleep, in words: a system call, a question that is answered with an error, or a child."""

import errno
import shlex
import signal
from collections.abc import Mapping

from perfdiag.common.text import printable
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.debuggers import shown_pid
from perfdiag.diagnosis.evidence.idle import call_errors
from perfdiag.diagnosis.evidence.idle.failure import Failure
from perfdiag.diagnosis.evidence.idle.refusals import refusal
from perfdiag.diagnosis.significance import LONGEST_HEADLINE, brief, plain
from perfdiag.model.model import Model
from perfdiag.recording import schema

_SIGNALS = 0x7F
# Programs that scripts ask whether something is so, and the statuses by which they say no.
_ANSWERS: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(("[", "cmp", "diff", "egrep", "fgrep", "grep", "test", "zgrep"), frozenset({1})),
    **dict.fromkeys(("expr", "false", "find", "findmnt", "fuser", "git", "kill", "lsof"), frozenset({1})),
    **dict.fromkeys(("pgrep", "pidof", "ping", "pkill", "rpm", "stat", "tmux", "which"), frozenset({1})),
    **dict.fromkeys(("nc", "nc.openbsd", "nc.traditional", "ncat", "dpkg-query"), frozenset({1})),
    **dict.fromkeys(("ls", "pg_isready"), frozenset({1, 2})),
    "getent": frozenset({2}),
    "mountpoint": frozenset({1, 32}),
    "service": frozenset({3}),
    "systemctl": frozenset({1, 3, 4}),
    "timeout": frozenset({124, 137}),
}


def failure_of(model: Model, line: schema.FailedCall) -> Failure:
    """Return what a line is about."""
    if line.command:
        return _child(model, line)
    return _tried(model, line)


def _tried(model: Model, line: schema.FailedCall) -> Failure:
    return refusal(model, line) if line.status else _call(model, line)


def call_of(line: schema.FailedCall) -> str:
    """Return the name of the system call; "": it is none."""
    return printable(line.call.removeprefix("syscall:"))


def _child(model: Model, line: schema.FailedCall) -> Failure:
    """Return that a child fails, and in what, if that is known."""
    command = plain(line.command)
    ended = f"{command} {_end(line.exit_code)}"
    cause = _tried(model, line) if line.call or line.status else None
    by_hand = f"run {shlex.quote(command)} by hand, and see what it says: here that may go nowhere (2>/dev/null)"
    expected = _is_answer(line) or bool(cause and line.status and cause.expected)
    sleepers = f"{_starter(model, line)} sleeps {plural(line.sleeps, 'time')} before it tries again"
    told = f"{ended} ({cause.short})" if cause else ended
    told = told if len(f"{told}, and {sleepers}") <= LONGEST_HEADLINE else ended
    return Failure(
        now=told,
        before=told,
        short=ended,
        sleepers=sleepers,
        such="such an end",
        why=f"{ended}; {cause.why}" if cause else ended,
        remedy=cause.remedy if cause else by_hand,
        fixed=f"{command} ends with status 0",
        expected=expected,
        standby=bool(cause and cause.standby),
        hook="sched_process_exit",
    )


def _status(exit_code: int) -> int:
    return exit_code >> 8 & 0xFF


def _is_answer(line: schema.FailedCall) -> bool:
    """Return whether a child may have ended so to say that something is not the case."""
    return not line.exit_code & _SIGNALS and _status(line.exit_code) in _ANSWERS.get(line.command, ())


def _end(exit_code: int) -> str:
    """Return how a child ended, as wait(2) says it."""
    number = exit_code & _SIGNALS
    if not number:
        return f"ends with status {_status(exit_code)}"
    known = {each.value: each.name for each in signal.Signals}
    return f"is ended by {known.get(number, f'signal {number}')}"


def _starter(model: Model, line: schema.FailedCall) -> str:
    """Return the name of who started a child."""
    return next((plain(each.comm) for each in model.threads_of(line.pid)), "") or "its parent"


def _call(model: Model, line: schema.FailedCall) -> Failure:
    call, error = call_of(line), call_errors.name_of(line.error)
    why, remedy = call_errors.meaning_of(call, line.error)
    setting, strict = call_errors.STRICT
    promises = line.error == errno.ENOMEM and call in call_errors.PROMISE_MEMORY
    if promises and model.facts.sysctl(setting) == strict:
        why, remedy = call_errors.NOT_PROMISED
    what = printable(line.file) or line.object.partition(" (inode ")[0]
    of = f"{call}() of {brief(what)}" if what else f"{call}()"
    return Failure(
        now=f"{of} fails ({error})",
        before=f"{of} failed ({error})",
        short=f"{of}: {error}",
        sleepers="threads sleep before they try again",
        such="such a failure",
        why=f"{error}: {why}",
        remedy=remedy.replace("PID", shown_pid(model, line.pid)),
        fixed=f"{call}() succeeds",
        expected=call_errors.is_expected(call, line.error),
        standby=call_errors.may_be_standby(call, line.error),
        hook="sys_exit",
    )
