"""Answers that are errors, after which threads sleep, in the words of a report."""

from dataclasses import replace

from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.idle.failure import Failure
from perfdiag.diagnosis.evidence.requests import error_statuses
from perfdiag.diagnosis.evidence.sql.sql_errors import STANDBY, server_of
from perfdiag.diagnosis.significance import LONGEST_HEADLINE, brief, plain
from perfdiag.model.model import Model
from perfdiag.recording import schema

_LONGEST_NAMES = 50  # of a peer and what it is asked, in a headline


def refusal(model: Model, line: schema.FailedCall) -> Failure:
    """Return that a peer answers with an error."""
    named = _of_named(model, line)
    return _of_statements(line, named) if server_of(line.status) else named


def _of_named(model: Model, line: schema.FailedCall) -> Failure:
    status = _status(line)
    peer = brief(plain(line.object) or "a peer")
    asked = brief(plain(line.request) or "what it is asked")
    why, remedy = error_statuses.meaning_of(line.status)
    whole = len(peer) + len(asked) <= _LONGEST_NAMES
    return Failure(
        now=f"{peer} answers {asked} with {status}" if whole else f"{asked} is answered with {status}",
        before=f"{peer} answered {asked} with {status}" if whole else f"{asked} was answered with {status}",
        short=f"{asked}: {status}",
        sleepers="threads sleep before they ask again",
        such="such an answer",
        why=f"{status}{_times(model, line)}: {why}",
        remedy=remedy,
        fixed=f"{asked} is not answered with {status}",
        expected=error_statuses.is_expected(line.status),
        standby=False,
        hook="sockets",
    )


def _of_statements(line: schema.FailedCall, named: Failure) -> Failure:
    """Return the same of a server of SQL: what it was asked has no name."""
    status, server = _status(line), server_of(line.status)
    sleepers = "threads sleep before they retry"
    peer = _place(server, line.object)
    if len(f"{peer} answers with {status}, and {sleepers}") > LONGEST_HEADLINE:
        peer = server
    return replace(
        named,
        now=f"{peer} answers with {status}",
        before=f"{peer} answered with {status}",
        short=f"{peer}: {status}",
        sleepers=sleepers,
        fixed=f"no statement is answered with {status}",
        standby=line.status in STANDBY,
    )


def _status(line: schema.FailedCall) -> str:
    return error_statuses.name_of(printable(line.status))


def _place(server: str, object: str) -> str:
    """Return "PostgreSQL at 10.0.0.5:5432"; of a unix socket, which is known by a process, the server alone."""
    return f"{server} at {brief(plain(object))}" if object and " (" not in object else server


def _times(model: Model, line: schema.FailedCall) -> str:
    """Return " (12 of 14 answers)", as far as that is known."""
    peers = {each.line.object for each in model.exchanges if each.object == line.object and not each.served}
    statements = [each.count for each in model.sql_calls if each.object in peers]
    named = [each.count for each in model.named_calls if each.object in peers and each.name == line.request]
    errors = [each for each in model.answers if each.object in peers and each.name == line.request]
    answered = sum(statements if server_of(line.status) else named)
    refused = sum(each.count for each in errors if each.status == line.status and each.direction == "connected")
    return f" ({min(refused, answered):,} of {answered:,} answers)" if refused and answered else ""
