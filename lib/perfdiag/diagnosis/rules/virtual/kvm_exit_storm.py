"""KVM-EXIT-STORM: virtual CPUs leave their guests too often."""

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.fix_checks import measured
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
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, virtual_policy
from perfdiag.diagnosis.rule import Evidence, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import about, brief, duration, fault, fix, little, percent, plain, worth
from perfdiag.model.guest import exit_names
from perfdiag.model.model import Model

STORM = "KVM-EXIT-STORM"
# Causes and remedies by exit reason.
_WHY: Mapping[str, str] = {
    "PAUSE": "the guest spins for locks with stopped holders: dedicate CPUs to its virtual CPUs, or give it fewer",
    "PAUSE_INSTRUCTION": "the guest spins for locks with stopped holders: dedicate CPUs to its virtual CPUs, or give it"
    " fewer",
    "MSR": "the guest sets timers or wakes other virtual CPUs: use fewer timers and wake-ups; AVIC avoids wake-up"
    " exits",
    "MSR_WRITE": "the guest sets timers or wakes other virtual CPUs: use fewer timers and wake-ups; APICv avoids"
    " wake-up"
    " exits",
    "CPUID": "a program in the guest runs CPUID again and again (as a barrier, or for features): find and change it",
    "NPF": "the guest touches memory for the first time: preallocate it (huge pages); KSM, ballooning and migration"
    " take it away again",
    "EPT_VIOLATION": "the guest touches memory for the first time: preallocate it (huge pages); KSM, ballooning and"
    " migration take it away again",
    "EPT_MISCONFIG": "the guest touches device registers: use virtio queues with more requests per notification",
    "IOIO": "the guest touches ports handled by the kernel (interrupt controller, timer, virtio 0.9)",
    "IO_INSTRUCTION": "the guest touches ports handled by the kernel (interrupt controller, timer, virtio 0.9)",
    exit_names.EXCEPTION_OR_NMI: "guest exceptions (#PF without nested paging, #DB, #AC, #MC) or NMIs of the host"
    " (perf): check perf kvm stat live, and kvm_intel ept=1",
    "VINTR": "interrupts wait until the guest takes them: AVIC avoids this",
    "INTERRUPT_WINDOW": "interrupts wait until the guest takes them: APICv avoids this",
    "WBINVD": "the guest flushes caches: a passed-through device without coherent memory, or a driver",
    "RDTSC": "the guest's time stamp counter is emulated after a migration: check its clock source",
    "VMGEXIT": "an encrypted guest needs its host for more operations",
}


@rule(
    STORM,
    title="Virtual CPUs leave their guests too often",
    accounts=("vm.exit",),
    meaning=(
        "The target runs virtual machines. Their virtual CPUs leave the guest so often that handling the exits takes"
        " time, some 1 to 5 us each. No device is emulated in user space; the number of exits costs."
    ),
    measured=(
        "Time on a CPU from exit to entry (vm.exit), by exit reason, and exits per second of the virtual CPUs'"
        " running time. Halts and host interrupts do not count; exceptions and NMIs count if more frequent than"
        " perf's."
    ),
    alternatives="A guest boots or touches its memory for the first time. Nested guests cause more exits.",
    remedies="Change the guest's behaviour, by reason, or use processor features against the exit.",
    verify="There are fewer exits for each second of running.",
    met=False,
)
def storm(model: Model) -> Iterable[Outcome]:
    """Join the kernel's own exits with the time that virtual CPUs ran."""
    if not runs_guests(model):
        yield from none_ran(model, STORM, "exits")
        return
    if silence := unknown(model, STORM, "reasons of exits are"):
        yield silence
        return
    unavoidable = exit_names.HALTS | _of_host(model)
    handled = Exits(
        tuple(line for line in model.vm_exits if not (line.user and line.device) and reason(line) not in unavoidable)
    )
    claims = limited(model, handled.claims)
    ns, busy_ns = sum(claims.values()), model.ns(*BUSY)
    rate = handled.count * 1e9 / busy_ns if busy_ns else 0.0
    if not worth(model, ns):
        yield little(model, STORM, f"{handled.count:,} exits, {rate:,.0f} per second of running,", ns)
        return
    groups = grouped((reason(line), line) for line in handled.lines)
    top, exits = next(iter(groups.items()))
    lost = model.coverage.lost.get("vm_exits_full", 0)
    yield conclude(
        model,
        claims,
        headline=f"Virtual CPUs leave their guests {rate:,.0f} times a second, mostly for {brief(plain(top))}",
        claim=(
            f"Virtual CPUs left their guests {handled.count:,} times. Handling the exits took {duration(ns)},"
            f" {percent(exits.running_ns / max(1, handled.running_ns))} of it for {plain(top)}."
        ),
        mechanism=Mechanism.MANY,
        severity=fault(model, ns) if rate >= virtual_policy.exits_per_busy_second else Severity.INFO,
        doubts=[f"{lost:,} exits have no reason" if lost else ""],
        evidence=[_by_reason(model, name, group) for name, group in list(groups.items())[:4]],
        remedies=[fix(_WHY.get(top, f"find the cause of {plain(top)} in the guest: perf kvm stat live"))],
        alternatives=["the guest boots, or runs nested guests"],
        verify=measured(
            model,
            f"fewer than {virtual_policy.exits_per_busy_second:,.0f} exits per second of running, now {rate:,.0f}",
        ),
    )


def _of_host(model: Model) -> frozenset[str]:
    """Return the exit reasons caused by the host; NMIs as long as they are few."""
    count = sum(line.count for line in model.vm_exits if reason(line) == exit_names.EXCEPTION_OR_NMI)
    few = count * 1e9 <= virtual_policy.nmis_per_busy_second * model.ns(*BUSY)
    return exit_names.HOST_INTERRUPTS | {exit_names.EXCEPTION_OR_NMI} if few else exit_names.HOST_INTERRUPTS


def _by_reason(model: Model, name: str, exits: Exits) -> Evidence:
    distribution = exits.distribution
    mean, p99 = exits.running_ns // max(1, exits.count), distribution.quantile_ns(0.99)
    text = (
        f"{duration(exits.running_ns)} in {exits.count:,} exits for {name},"
        f" {per_second(model, exits.count):,.0f}/s, {duration(mean)} each"
    )
    if p99 is not None and exits.count >= general_policy.waits_for_p99:
        text += f", p99 {about(p99)}"
    return Evidence(plain(text), float(exits.running_ns), "ns", "kvm_exit, kvm_entry")
