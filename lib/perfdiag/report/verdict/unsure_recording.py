"""Doubts about a whole recording: said before causes, and instead of ruling anything out."""

from collections.abc import Iterator, Mapping

from perfdiag.common.units import duration, plural, share
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Severity
from perfdiag.diagnosis.significance import fault
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ns_of
from perfdiag.report import contract
from perfdiag.report.to_tell import to_tell
from perfdiag.report.verdict.sentences import Kind, nameless_ns, verdict, worded

_ACQUITTALS = (Kind.ELSEWHERE.value, Kind.PROFILE.value)  # what they say, time that is not told would make untrue
AGAIN = "Record again."
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
    doubt = next(_doubts(Kind(made.kind), model, unasked), None)
    if doubt is None:
        return made
    what, how_much, remedy = doubt
    if made.kind in _CAUSES:
        told = f"{what[0].upper()}{what[1:]}: see TRUST."
        return worded(Kind(made.kind), made.sentences, made.ids, doubt=told, before=made)
    return verdict(Kind.CANNOT_TELL, [f"Cannot tell: {what}: {how_much}.", remedy])


def _doubts(kind: Kind, model: Model, unasked: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with a recording, how much, and what to do; the worst first."""
    coverage = model.coverage
    if coverage.contradictions:
        yield "the recording contradicts itself", coverage.contradictions[0], AGAIN
    if coverage.closed_error > general_policy.closed_error_share:
        yield (
            "the recording does not add up",
            f"accounted time differs from the threads' time by {share(coverage.closed_error)}",
            AGAIN,
        )
    if kind is not Kind.CANNOT_TELL and (bad := coverage.lost.get("bad_lines", 0)):  # they may contain a larger cause
        yield "the recording is damaged", f"{plural(bad, 'line')} cannot be read", AGAIN
    if kind.value in _ACQUITTALS:
        yield from _blind_spots(model, unasked)


def _blind_spots(model: Model, unasked: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield what was lost, not recorded or not measured, and would tell whether most of the busy time is a fault."""
    kept, lost = sum(total.count for total in model.accounts.values()), model.coverage.lost_total
    if lost and lost >= kept:  # a named cause has been weighed against that already
        yield "as much was lost as was recorded", f"{plural(lost, 'record')} lost, {kept:,} there", AGAIN
    for reason in unasked.values():
        ns = ns_of(model.accounts, *(account for account, why in unasked.items() if why == reason))
        if 2 * ns > model.busy_ns:
            yield reason, f"{duration(ns)} cannot be judged without it", AGAIN
    if (ns := nameless_ns(model)) and fault(model, ns) is not Severity.INFO:
        states = f"{duration(ns)} are in states that this version does not know"
        yield "it was recorded by a newer perfdiag", states, "Report it with the perfdiag that recorded it."
    for item in model.not_measured:
        ns = ns_of(model.accounts, *JUDGED_BY.get(item.feature, ()))
        if 2 * ns > model.busy_ns and fault(model, ns) is not Severity.INFO:
            yield f"not measured: {item.what}", f"{duration(ns)} cannot be judged without it", to_tell(item.fix)
