"""Waits for a disk that are a part of something larger the kernel does for a call: that is what can be done less."""

from dataclasses import replace

from perfdiag.diagnosis.evidence.cpu.kernel_work import around
from perfdiag.diagnosis.evidence.disk.disk_waits import Case, Kind
from perfdiag.diagnosis.rule import Finding, Mechanism
from perfdiag.diagnosis.significance import fix
from perfdiag.model.model import Model


def as_part_of_work(model: Model, kind: Kind, case: Case, finding: Finding) -> Finding:
    """Return the finding on these waits with what most of them are a part of, where the stacks show that."""
    work = around(model.wait_stacks(kind.account, key=case.rows[0].key))
    if work is None or finding.mechanism not in (Mechanism.MANY, Mechanism.SLOW, Mechanism.ABOVE):
        return finding
    headline = f"Threads wait for {kind.nouns}, which are part of {work.name}"
    if finding.mechanism is not Mechanism.MANY and case.chain.count:  # the disk is: its requests show that
        headline = f"{finding.headline}; these are part of {work.name}"
    return replace(finding, headline=headline, remedies=[fix(work.remedy), *finding.remedies])
