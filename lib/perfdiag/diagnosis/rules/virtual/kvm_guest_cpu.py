"""KVM-GUEST-CPU: guests run their own code."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import (
    none_ran,
    runs_guests,
    unknown,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import duration, fix, percent, worth
from perfdiag.model.model import Model

GUEST = "KVM-GUEST-CPU"


@rule(
    GUEST,
    title="Guests run their own code",
    accounts=("vm.guest",),
    meaning=(
        "The target runs virtual machines, and its virtual CPUs run guest code this long. This is a profile, not a"
        " fault; only the guest knows what it runs."
    ),
    measured=(
        "Time from each entry into a guest to its exit (vm.guest), or the kernel's tick accounting if KVM cannot be"
        " traced."
    ),
    alternatives="A low clock or a busy sibling hyperthread makes the same work take longer.",
    remedies="Run perfdiag inside the guest.",
    verify="The same work of the guest takes less vm.guest.",
)
def guest_cpu(model: Model) -> Iterable[Outcome]:
    """Report the time in guest code."""
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
    ticks = "" if exact else "KVM could not be traced: times come from ticks, and halts are unknown"
    idle_text = f", {duration(model.ns('vm.halt'))} halted" if exact else ""
    yield conclude(
        model,
        {"vm.guest": ns},
        headline="Guests run their own code",
        claim=f"Guests ran their own code for {duration(ns)}, {percent(share)} of {subject(model)}'s busy time.",
        mechanism=Mechanism.WORK,
        departs=False,
        doubts=[ticks],
        evidence=[
            Evidence(f"{duration(ns)} in guests{idle_text}", float(ns), "ns", "kvm_entry" if exact else "tick"),
        ],
        remedies=[fix("run perfdiag latency inside the guest, on its slow process")],
        verify=less(model, "vm.guest", model.ns("vm.guest")),
    )
