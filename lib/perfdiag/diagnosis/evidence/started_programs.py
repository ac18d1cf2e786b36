"""The program that a fault falls on, where the target starts it for its work, and waits for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.rule import Evidence, Finding, Severity, account_of
from perfdiag.diagnosis.significance import percent, plain, with_room
from perfdiag.model.ledger.thread_totals import UNLISTED
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import OF_CPUS

_MOST = 0.8  # of the account that a fault is about: then hardly anybody else waits there


def with_programs(model: Model, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings; a fault that falls on a program which the target starts, and which ends again, names it."""
    leaders = {thread.pid: thread.comm for thread in model.threads if thread.tid == thread.pid}
    own = {target.comm for target in model.header.targets}
    if model.host is not None or own.issuperset(_program(each, leaders) for each in model.threads):
        return list(findings)
    return [_on_program(model, each, leaders, own) for each in findings]


def _program(thread: ThreadLedger, leaders: Mapping[int, str]) -> str:
    """Return the name of a thread's process; of ended threads that are folded it is the fold's."""
    return leaders.get(thread.pid, thread.comm) if thread.tid else thread.comm


def _ended(thread: ThreadLedger) -> int:
    """Return how many processes ended: the first thread of each is its process."""
    return (thread.processes or int(thread.tid == thread.pid)) if thread.exited else 0


def _on_program(model: Model, finding: Finding, leaders: Mapping[int, str], own: set[str]) -> Finding:
    claimed = sums_by_key((account_of(claim), ns) for claim, ns in finding.claims.items())
    account = max(claimed, key=lambda name: claimed[name], default="")
    if finding.severity is Severity.INFO or not account or account.startswith(OF_CPUS):
        return finding
    by_name = sums_by_key((_program(each, leaders), each.ns(account)) for each in model.threads)
    comm, ns = max(by_name.items(), key=lambda item: item[1], default=("", 0))
    name = plain(comm)
    ended = sum(_ended(each) for each in model.threads if _program(each, leaders) == comm)
    if comm in own or comm == UNLISTED or not ended or not ns or ns < _MOST * by_name.total():
        return finding
    if claimed[account] < _MOST * model.ns(account):  # the rest may be others'
        return finding
    part = f"{name} has {percent(ns / by_name.total())} of {account}"
    text = f"{part}; {plural(ended, 'process')} of that name ended in the window"
    headline = f"{finding.headline}; {name} (a child process) waits for it"
    return replace(
        finding,
        headline=with_room(headline, finding.headline),
        evidence=[*finding.evidence, Evidence(text, ns / by_name.total(), "share", "ledger")],
    )
