"""Discards and zeroes that keep a disk busy: it answers all that time, and slowly, since each may take seconds."""

from perfdiag.diagnosis.evidence.disk.backing_disks import Requests
from perfdiag.diagnosis.evidence.disk.disk_waits import FLUSH, Case, Kind
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import about, brief, duration, fault, fix, size, total_ns, typical_ns, waits
from perfdiag.model.model import Model

ERASES = ("discard", "other")


def erased(model: Model, kind: Kind, case: Case) -> Finding | None:
    """Return the finding of waits behind discards or zeroes: long ones, that took the device much of that time."""
    of, ns, name = case.where.requests(model, *ERASES), total_ns(case.rows), case.where.name
    each_ns = typical_ns(of.service)
    usual_ns = max(case.where.norm_ns(Requests(0, 0, of.queue, of.service)), disk_policy.erasure_of_wait * case.wait_ns)
    if (
        of.count < disk_policy.several_erasures
        or each_ns < usual_ns
        or of.service.sum_ns < disk_policy.erasing_share * ns
    ):
        return None
    text = f"{of.count:,} discards and zeroes, {size(of.bytes)}, took the device {duration(of.service.sum_ns)}"
    return conclude(
        model,
        {(kind.account, case.rows[0].key): ns},
        headline=f"The disk under {brief(name)} is busy with discards or zeroes, {about(each_ns)} each",
        claim=f"{text}, {about(each_ns)} each; {kind.nouns} on {name} wait behind them.",
        mechanism=Mechanism.BUSY,
        severity=fault(model, ns),
        doubts=["who asked for discards was not recorded"],
        evidence=[Evidence(text, float(of.service.sum_ns), "ns", "block_rq_complete"), waits(case.wait, kind.counted)],
        remedies=[
            fix(
                "find who discards or zeroes: fstrim (systemctl list-timers fstrim.timer), mounts with -o discard, new"
                " file systems, fallocate; let it do so at another time, or less at once (discard_max_bytes in"
                " /sys/block/*/queue)"
            ),
            fix(kind.fewer),
        ],
        verify=shorter(model, f"{kind.nouns} on {name}", case.wait_ns, case.where.norm_ns(of, kind is FLUSH)),
    )


__all__ = ["erased"]
