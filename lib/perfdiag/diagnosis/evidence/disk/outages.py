"""Disks that did not answer for a while, and volumes that held requests back while their disks were idle."""

from perfdiag.diagnosis.evidence.disk.backing_disks import requests_of
from perfdiag.diagnosis.evidence.disk.disk_waits import Case, Kind
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.outages import outage
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Remedy
from perfdiag.diagnosis.significance import about, brief, duration, fault, fix, waits, worth
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.recording.distribution import edges_ns


def did_not_answer(model: Model, kind: Kind, case: Case) -> Finding | None:
    """Return the finding of a device that answered nothing for a while; None if there is no such time. A volume is
    one only if the disks below it were idle: a flush of much data is long, too."""
    found = outage(case.wait)
    if found is None or not case.where.device or not worth(model, found.ns):
        return None
    longest_ns, name = found.waits.max_ns, case.where.name
    above = not any(_had_ns(line) >= longest_ns / 2 for disk in case.where.disks for line in model.devices_of(disk))
    if above and not _were_idle(model, case, longest_ns / 2):
        return None
    headline = f"The disk under {brief(name)} did not answer for up to {duration(longest_ns)}"
    if above:
        headline = f"{brief(name)} held requests back for up to {duration(longest_ns)}, while its disks were idle"
    usual = about(found.waits.quantile_ns(0.5) or 0)
    text = f"{duration(found.ns)} in {found.count:,} of {found.waits.count:,} {kind.counted}; half take up to {usual}"
    return conclude(
        model,
        {(kind.account, case.rows[0].key): found.ns},
        headline=headline,
        claim=f"{headline}: {text}.",
        mechanism=Mechanism.FAILED,
        severity=fault(model, found.ns),
        evidence=[Evidence(text, float(found.ns), "ns", "ledger"), waits(found.waits, kind.counted)],
        remedies=_remedies(above=above),
        verify=shorter(model, f"{kind.nouns} on {name}", case.wait_ns, general_policy.outage_ns),
    )


def _had_ns(line: schema.Device) -> int:
    """Return the longest time that a device had a request, at most; 0: it had none.  What is sent once more after a
    timeout counts from then on, and shows as queue of a few; the queue of a flood is that of many."""
    of = requests_of([line])
    served_ns = max((edges_ns(bucket)[1] for bucket in of.service.buckets), default=0)
    return max(served_ns, line.max_ns if outage(of.queue) else 0)


def _were_idle(model: Model, case: Case, ns: float) -> bool:
    """Return whether the disks of a device worked for less than that in the whole window, as far as is known."""
    disks = [model.facts.disks.get(device) for device in case.where.disks]
    return bool(disks) and all(disk and disk.activity and disk.activity.busy_ns < ns for disk in disks)


def _remedies(*, above: bool) -> list[Remedy]:
    what = "timeouts, aborts and resets, paths that failed (multipath -ll)"
    if above:
        what = "a pool without space, a suspended or failed volume (dmsetup info, dmsetup status, lvs)"
    own = "" if above else ", and the disk's own log (smartctl -x)"
    return [
        fix(f"see what happened at that time: dmesg -T, for {what}"),
        fix(f"see whether it has happened before: journalctl -k{own}"),
    ]
