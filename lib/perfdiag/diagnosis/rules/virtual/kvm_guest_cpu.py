"""A rule on the host of virtual machines: the CPU time of the guests' own code."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.target import again, subject
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import (
    none_ran,
    runs_guests,
    unknown,
)
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix, judged, percent, worth
from perfdiag.model.model import Model

GUEST = "KVM-GUEST-CPU"


@rule(
    GUEST,
    title="Guests run their own code",
    accounts=("vm.guest",),
    meaning="The target runs virtual machines, and so much of its time its virtual CPUs really ran their guests. That"
    " is what they are for: profile, no fault. What the guests do with it is to be asked inside.",
    measured="Exact time from each entry into a guest to the exit (ledger, vm.guest), over the whole window; where"
    " perfdiag's programs cannot follow KVM, what the kernel's own ticks counted.",
    alternatives="A low clock or a busy sibling hyperthread make the same work take longer.",
    remedies="None here: run perfdiag inside the guest.",
    verify="perfdiag latency inside the guest",
)
def guest_cpu(model: Model) -> Iterable[Outcome]:
    """Name the time that guests had for themselves."""
    if not runs_guests(model):
        yield from none_ran(model, GUEST, "guests' own code")
        return
    ns, share, exact = model.ns("vm.guest"), model.share("vm.guest"), model.measured("vm")
    silence = unknown(model, GUEST, "time in guests is", reasons=False)
    if silence and (exact or not ns):
        yield silence
        return
    if not worth(model, ns):
        yield Check(GUEST, f"guests' own code {percent(share)} of busy time", share, "share")
        return
    ticks = "" if exact else "KVM could not be followed: the kernel's ticks have counted it, and halts are not known"
    confidence, limits = judged(model, Confidence.HIGH, [ticks])
    idle_text = f", {duration(model.ns('vm.halt'))} of halt beside" if exact else ""
    yield Finding(
        GUEST,
        Severity.INFO,
        confidence,
        f"Guests ran their own code for {duration(ns)}, {percent(share)} of {subject(model)}'s busy time: what it is,"
        " they know themselves.",
        {"vm.guest": ns},
        [
            Evidence(f"{duration(ns)} in guests{idle_text}", float(ns), "ns", "kvm_entry" if exact else "tick"),
        ],
        [fix("run perfdiag latency inside the guest, on the process that is slow there")],
        limits=limits,
        verify=f"{again(model)} here, and perfdiag latency inside the guest",
        headline="Guests run their own code",
        mechanism=Mechanism.WORK,
    )


__all__ = ["guest_cpu"]
