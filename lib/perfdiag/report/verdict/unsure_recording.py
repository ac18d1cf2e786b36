"""Doubts about a whole recording: said before causes, and instead of ruling anything out."""

from __future__ import annotations

from collections.abc import Mapping

from perfdiag.common.units import duration, plural, share
from perfdiag.diagnosis.rule import Severity
from perfdiag.diagnosis.significance import CLOSED, fault
from perfdiag.model.model import Model, NotMeasured
from perfdiag.model.thread_accounts import ns_of
from perfdiag.report import contract
from perfdiag.report.to_tell import to_tell
from perfdiag.report.verdict.sentences import Kind, nameless_ns, verdict, worded

_ACQUITTALS = (Kind.ELSEWHERE.value, Kind.PROFILE.value)  # what they say, time that is not told would make untrue
_NONE = "", ""
# What tells a cause from a norm, by feature: without it nobody knows of time in these accounts.  All attach on every
# kernel that perfdiag runs on; of what many hosts cannot tell, as the clock of a guest, NOT MEASURED speaks alone.
JUDGED_BY: Mapping[str, tuple[str, ...]] = {
    "block": ("disk.read", "disk.write", "disk.flush"),
    "dirty_throttle": ("memory.dirty_throttle",),
    "nfs": ("nfs.read", "nfs.write", "nfs.commit", "nfs.metadata", "nfs.lock"),
    "stacks": ("cpu.kernel",),
    "tcp": ("net.receive", "net.send"),
    "vm": ("vm.exit",),
    "vm_device": ("vm.exit",),
}
_CAUSES = (Kind.CAUSE.value, Kind.CAUSES.value)


def with_doubt(made: contract.Verdict, model: Model, unasked: Mapping[str, str]) -> contract.Verdict:
    """Return the verdict with the doubt before its causes; any other verdict becomes "cannot tell". `unasked` has, by
    account, what was not recorded though a rule needs it."""
    what, how_much = _doubt(model)
    if not what and made.kind != Kind.CANNOT_TELL.value:
        what, how_much = _unread(model)
    remedy = "Record again."
    if not what and made.kind in _ACQUITTALS:
        what, how_much = next((each for each in (_lost(model), _unknown(model, unasked)) if each[0]), _NONE)
        if not what and (ns := nameless_ns(model)) and fault(model, ns) is not Severity.INFO:
            what, how_much = (
                "it was recorded by a newer perfdiag",
                f"{duration(ns)} are in states that this version does not know",
            )
            remedy = "Report it with the perfdiag that recorded it."
        if not what and (item := _blind(model)):
            ns = ns_of(model.accounts, *JUDGED_BY[item.feature])
            what, how_much = f"not measured: {item.what}", f"{duration(ns)} cannot be judged without it"
            remedy = to_tell(item.fix)
    if not what:
        return made
    if made.kind in _CAUSES:
        return worded(
            Kind(made.kind),
            made.sentences,
            made.ids,
            doubt=f"{what[0].upper()}{what[1:]}: see TRUST.",
            tells=made.tells,
        )
    return verdict(Kind.CANNOT_TELL, [f"Cannot tell: {what}: {how_much}.", remedy])


def _unknown(model: Model, unasked: Mapping[str, str]) -> tuple[str, str]:
    """Return what was not recorded but would tell whether most of the busy time is a fault."""
    for reason in unasked.values():
        accounts = [account for account, why in unasked.items() if why == reason]
        ns = ns_of(model.accounts, *accounts)
        if 2 * ns > model.busy_ns:
            return reason, f"{duration(ns)} cannot be judged without it"
    return _NONE


def _blind(model: Model) -> NotMeasured | None:
    """Return what was not measured but would tell whether most of the busy time is a fault."""
    for item in model.not_measured:
        ns = ns_of(model.accounts, *JUDGED_BY.get(item.feature, ()))
        if 2 * ns > model.busy_ns and fault(model, ns) is not Severity.INFO:
            return item
    return None


def _doubt(model: Model) -> tuple[str, str]:
    """Return what is wrong with a recording, and how much; twice "" if nothing is."""
    coverage = model.coverage
    if coverage.contradictions:
        return "the recording contradicts itself", coverage.contradictions[0]
    if coverage.closed_error > CLOSED:
        return "the recording does not add up", f"{share(coverage.closed_error)} too much or too little"
    return _NONE


def _unread(model: Model) -> tuple[str, str]:
    """Return that lines of the recording cannot be read: they may contain a larger cause."""
    bad = model.coverage.lost.get("bad_lines", 0)
    return ("the recording is damaged", f"{plural(bad, 'line')} cannot be read") if bad else _NONE


def _lost(model: Model) -> tuple[str, str]:
    """Return that as much was lost as was recorded; a named cause has been weighed against that already."""
    kept, lost = sum(total.count for total in model.accounts.values()), model.coverage.lost_total
    if not lost or lost < kept:
        return _NONE
    return "as much was lost as was recorded", f"{plural(lost, 'record')} lost, {kept:,} there"


__all__ = ["with_doubt"]
