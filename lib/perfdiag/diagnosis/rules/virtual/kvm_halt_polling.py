"""A rule on the host of virtual machines: the kernel waits busily for a halted guest to wake up."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.target import again, setting
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import (
    Exits,
    limited,
    none_ran,
    per_second,
    reason,
    runs_guests,
    unknown,
)
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix, judged, percent, worth
from perfdiag.model.guest import exit_names
from perfdiag.model.model import Model

ID = "KVM-HALT-POLLING"
PARAMETER = "/sys/module/kvm/parameters/halt_poll_ns"


@rule(
    ID,
    title="The host polls for guests that halted",
    accounts=("vm.exit",),
    meaning="When a guest halts, KVM does not give up the CPU at once: for up to halt_poll_ns it asks again and again"
    " whether there is something to do, so that the guest wakes up faster. The host's CPU looks busy and is lost to"
    " others; a guest with many short sleeps keeps it so. A trade, no fault: profile.",
    measured="Exact time on a CPU inside exits for a halt (ledger, vm.exit), over the whole window, which is polling,"
    " and a few microseconds for going to sleep and waking up; joined with the time of the halts that ended while it"
    " polled (kvm_vcpu_wakeup), which surely is, and with the setting.",
    alternatives="Very many halts that sleep at once: then each takes a few microseconds only.",
    remedies="A lower halt_poll_ns for the whole host: gives the CPU time back, and takes a wake-up of some 10 to 100"
    " us from each guest that was woken while it was polled for.",
    verify="vm.exit and the time polled; inside the guests, how long requests take.",
    beats=("KVM-EXIT-STORM",),
)
def halt_polling(model: Model) -> Iterable[Outcome]:
    """Join exits for halts with the time polled and the setting."""
    if not runs_guests(model):
        yield from none_ran(model, ID, "polling for halted guests")
        return
    if silence := unknown(model, ID, "polling for halted guests is"):
        yield silence
        return
    halts = Exits(tuple(line for line in model.vm_exits if reason(line) in exit_names.HALTS and not line.user))
    polled_ns = sum(line.polled_ns for line in halts.lines)
    claims = limited(model, halts.claims)
    ns, setting_ns = sum(claims.values()), model.facts.halt_poll_ns
    share = ns / model.busy_ns if model.busy_ns else 0.0
    if not worth(model, ns) or setting_ns == 0 or not polled_ns:
        text = f"halts: {halts.count:,}, busy in them {duration(ns)}, {percent(share)} of busy time"
        yield Check(ID, f"{text}, of it polling that was answered {duration(polled_ns)}", share, "share", large=False)
        return
    confidence, limits = judged(
        model, Confidence.HIGH, ["" if setting_ns is not None else "the present halt_poll_ns is not known"]
    )
    remedies = [fix("a guest that sleeps less often: fewer timers and wake-ups inside it")]
    if setting_ns:
        remedies.insert(0, setting(PARAMETER, "0", str(setting_ns)))
    yield Finding(
        ID,
        Severity.INFO,
        confidence,
        f"The host was busy for {duration(ns)} while guests were halted, polling for their next work"
        + (f" (halt_poll_ns {setting_ns:,})." if setting_ns else "."),
        claims,
        [
            Evidence(
                f"{halts.count:,} halts, {per_second(model, halts.count):,.0f} a second, {duration(ns)} busy in them;"
                f" polling that was answered {duration(polled_ns)}; asleep {duration(model.ns('vm.halt'))}",
                float(ns),
                "ns",
                "kvm_exit, kvm_vcpu_wakeup",
            )
        ],
        remedies,
        alternatives=["very many halts that sleep at once"],
        limits=limits,
        verify=f"{again(model)}: vm.exit; in the guests, how long their requests take",
        headline="The host polls while its guests are halted",
        mechanism=Mechanism.WORK,
    )


__all__ = ["halt_polling"]
