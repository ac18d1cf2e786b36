"""A rule on the host of virtual machines: exits from guests that the kernel handles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import (
    BUSY,
    Exits,
    grouped,
    limited,
    none_ran,
    per_second,
    reason,
    runs_guests,
    unknown,
)
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import about, brief, duration, fault, fix, judged, percent, plain, worth
from perfdiag.model.guest import exit_names
from perfdiag.model.model import Model

STORM = "KVM-EXIT-STORM"
# A guest that keeps one CPU busy leaves it some 1,000 times a second for its timers, interrupts and requests.  Ten
# times that is what departs from the norm: at 2 us each it is a fiftieth of that CPU, at 10 us a tenth.
STORM_PER_BUSY_SECOND = 10_000
# perf takes 4,000 samples a second of a CPU unless told otherwise, each by an NMI: what is well above that are
# exceptions of the guest.
HOST_NMIS_PER_BUSY_SECOND = 5_000
# What makes a guest leave so often, and what helps.
_WHY: Mapping[str, str] = {
    "PAUSE": "the guest spins for locks whose holders have no CPU: give its virtual CPUs CPUs of their own, or let it"
    " have fewer",
    "PAUSE_INSTRUCTION": "the guest spins for locks whose holders have no CPU: give its virtual CPUs CPUs of their own,"
    " or let it have fewer",
    "MSR": "the guest sets its timer or interrupts other virtual CPUs: see timers and wake-ups inside it; AVIC spares"
    " the second kind",
    "MSR_WRITE": "the guest sets its timer or interrupts other virtual CPUs: see timers and wake-ups inside it; APICv"
    " and posted interrupts spare the second kind",
    "CPUID": "a program in the guest executes CPUID again and again (as a barrier, or to ask for features)",
    "NPF": "the guest touches memory its host has not given it yet: give it its memory beforehand (huge pages,"
    " preallocation); KSM, ballooning and migration take it away again",
    "EPT_VIOLATION": "the guest touches memory its host has not given it yet: give it its memory beforehand (huge"
    " pages, preallocation); KSM, ballooning and migration take it away again",
    "EPT_MISCONFIG": "the guest touches registers of devices: virtio queues with more requests for each notification",
    "IOIO": "the guest touches ports that the kernel answers (interrupt controller, timer, virtio 0.9)",
    "IO_INSTRUCTION": "the guest touches ports that the kernel answers (interrupt controller, timer, virtio 0.9)",
    exit_names.EXCEPTION_OR_NMI: "the guest's own exceptions stop it (#PF without nested paging, #DB of a debugger,"
    " #AC, #MC), or NMIs of its host do: perf kvm stat live tells; is perf, or kvm_intel without ept=1, in use on"
    " the host?",
    "VINTR": "interrupts wait until the guest takes them: AVIC spares that",
    "INTERRUPT_WINDOW": "interrupts wait until the guest takes them: APICv spares that",
    "WBINVD": "the guest flushes caches: a passed-through device without coherent memory, or a driver's habit",
    "RDTSC": "the guest's time stamp counter is emulated (it was migrated): see its clock source",
    "VMGEXIT": "an encrypted guest asks its host for what others do alone",
}


@rule(
    STORM,
    title="Guests are left very often",
    accounts=("vm.exit",),
    meaning="The target runs virtual machines whose virtual CPUs leave the guest so often that handling it takes a part"
    " of their time. Nothing is emulated in user space: it is the number of exits that costs, each some 1 to 5 us, and"
    " the caches lost with it.",
    measured="Exact time on a CPU from exit to entry (ledger, vm.exit), by the reason that the processor gives, over"
    " the whole window; joined with how often that is in a second of the virtual CPUs' own running. Halts and the"
    " host's own interrupts do not count. VMX has one reason for exceptions of the guest and NMIs of the host: it"
    " counts where it is more frequent than NMIs of perf are.",
    alternatives="A guest that boots or gets its memory for the first time. A guest that runs guests of its own leaves"
    " for each of their exits, too.",
    remedies="What the guest does so often, by reason; features of the processor that spare the exit.",
    verify="Exits a second of that reason, and vm.exit, for the same work.",
)
def storm(model: Model) -> Iterable[Outcome]:
    """Join the kernel's own exits with the time that virtual CPUs ran."""
    if not runs_guests(model):
        yield from none_ran(model, STORM, "exits")
        return
    if silence := unknown(model, STORM, "reasons of exits are"):
        yield silence
        return
    handled = Exits(
        tuple(
            line
            for line in model.vm_exits
            if not (line.user and line.device) and reason(line) not in exit_names.HALTS | _of_host(model)
        )
    )
    claims = limited(model, handled.claims)
    ns, busy_ns = sum(claims.values()), model.ns(*BUSY)
    rate = handled.count * 1e9 / busy_ns if busy_ns else 0.0
    if not worth(model, ns):
        share = ns / model.busy_ns if model.busy_ns else 0.0
        text = f"exits: {handled.count:,}, {rate:,.0f} in a second of running, {percent(share)} of busy time"
        yield Check(STORM, text, share, "share")
        return
    groups = grouped((reason(line), line) for line in handled.lines)
    top, exits = next(iter(groups.items()))
    lost = model.coverage.lost.get("vm_exits_full", 0)
    confidence, limits = judged(model, Confidence.HIGH, [f"{lost:,} exits have no reason" if lost else ""])
    yield Finding(
        STORM,
        fault(model, ns) if rate >= STORM_PER_BUSY_SECOND else Severity.INFO,
        confidence,
        f"Virtual CPUs left their guests {handled.count:,} times, {rate:,.0f} times in a second of running: handling it"
        f" took {duration(ns)}, {percent(exits.running_ns / max(1, handled.running_ns))} of it for {plain(top)}.",
        claims,
        [_by_reason(model, name, group) for name, group in list(groups.items())[:4]],
        [fix(_WHY.get(top, f"find what in the guest makes it leave for {plain(top)}: perf kvm stat live"))],
        alternatives=["a guest that boots, or has guests of its own"],
        limits=limits,
        verify=f"{again(model)}: exits a second and vm.exit for the same work",
        headline=f"Virtual CPUs leave their guests {rate:,.0f} times a second, mostly for {brief(plain(top))}",
        mechanism=Mechanism.MANY,
    )


def _of_host(model: Model) -> frozenset[str]:
    """Return the reasons that are the host's doing: NMIs as far as they can be."""
    count = sum(line.count for line in model.vm_exits if reason(line) == exit_names.EXCEPTION_OR_NMI)
    few = count * 1e9 <= HOST_NMIS_PER_BUSY_SECOND * model.ns(*BUSY)
    return exit_names.HOST_INTERRUPTS | {exit_names.EXCEPTION_OR_NMI} if few else exit_names.HOST_INTERRUPTS


def _by_reason(model: Model, name: str, exits: Exits) -> Evidence:
    distribution = exits.distribution
    mean, p99 = exits.running_ns // max(1, exits.count), distribution.quantile_ns(0.99)
    text = (
        f"{name}: {exits.count:,} exits, {per_second(model, exits.count):,.0f} a second, {duration(exits.running_ns)},"
        f" {duration(mean)} each"
    )
    if p99 is not None and exits.count >= 300:
        text += f", p99 {about(p99)}"
    return Evidence(plain(text), float(exits.running_ns), "ns", "kvm_exit, kvm_entry")


__all__ = ["storm"]
