"""VIRT-CLOCKSOURCE: reading the clock is slow because its source is a device."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, Part
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.target import CPU, again
from perfdiag.diagnosis.evidence.virtual.emulated_access import CLOCK_READS, DRIVERS, said, sampled
from perfdiag.diagnosis.evidence.virtual.host_side import Bound, of_clock
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy, virtual_policy
from perfdiag.diagnosis.rule import Check, Claims, Confidence, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import duration, fix, plain, worth
from perfdiag.facts.processor import Clocksource
from perfdiag.model.model import Model

# Clock sources read without leaving the CPU (or the guest); all others access a device.
FAST_CLOCKS = frozenset(
    {
        "tsc",
        "tsc-early",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
        "xen",
        "timebase",
        "tod",
        "riscv_clocksource",
    }
)
# Samples after an exit often hit the calling function.  Used only if the clock source is known to be a device.
CLOCK_READERS = (*CLOCK_READS, "ktime_get")


@rule(
    "VIRT-CLOCKSOURCE",
    title="Reading the clock is slow",
    accounts=("cpu.kernel", "cpu.irq"),
    meaning=(
        "The kernel's clock source is a device (acpi_pm, hpet) instead of the CPU's counter. Each reading costs 1 us"
        " on hardware and some 10 us in a guest, and clock_gettime becomes a real system call."
    ),
    measured=(
        "CPU samples inside the clock source's read function, times CPU time, with the clock sources in use and"
        " offered and the kernel log. With the host's recording (perfdiag report HOST GUEST) at most the time of its"
        " exits."
    ),
    alternatives="The kernel found the counter unstable (sockets, migration), or the hypervisor does not offer it.",
    remedies=(
        "Fix the counter: hypervisor and firmware settings, or the paravirtual clock. Read the clock less often."
        " Never force a counter marked unstable: a wrong clock breaks more than time."
    ),
    verify="current_clocksource is tsc or kvm-clock.",
    beats=(
        "CPU-KERNEL-HEAVY",
        "CPU-BOUND",
        "CPU-SINGLE-THREAD",
        "CPU-FREQUENCY-LOW",
        "NUMA-REMOTE",
        "CPU-IRQ-HEAVY",
        "CPU-SPINNING",
        "DIR-HUGE",
        "PROC-CHILD-SLOW",
        "PROC-FORK-SLOW",
    ),
)
def clocksource(model: Model) -> Iterable[Outcome]:
    """Judge samples in clock reads by the clock source in use."""
    clock = model.facts.clocksource
    current = plain(clock.current) if clock else "unknown"
    if clock is not None and clock.current in FAST_CLOCKS:
        yield Check("VIRT-CLOCKSOURCE", f"clock source {current}, not a device", 0.0, "share")
        return
    samples = CpuSamples(model)
    if samples.count < cpu_policy.samples_for_function:
        if worth(model, model.ns(*CPU)):
            yield Silence(
                "VIRT-CLOCKSOURCE",
                f"clock source {current}; {samples.count} CPU samples are too few to see its cost",
                f"record longer: {again(model, '--duration 60')}",
            )
        return
    part, claims = samples.charged(model, CLOCK_READERS if clock else CLOCK_READS, others=DRIVERS)
    bound, sampled_ns = of_clock(model, clock.current if clock else ""), sum(claims.values())
    claims = bound.limited(claims)
    ns = sum(claims.values())
    if part.share - part.error < virtual_policy.clock_share or not worth(model, ns):
        if clock is not None or part.count:
            yield Check(
                "VIRT-CLOCKSOURCE",
                said(f"clock source {current}: reading it took {part} of CPU samples", bound.contradicts(sampled_ns)),
                part.share,
                "share",
            )
        else:
            yield Silence(
                "VIRT-CLOCKSOURCE",
                f"the clock source is unknown: {model.facts.reason('clocksource') or 'not recorded'}",
                "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
        return
    yield _finding(model, clock, part, claims, samples, bound, sampled_ns)


def _finding(
    model: Model,
    clock: Clocksource | None,
    part: Part,
    claims: Claims,
    samples: CpuSamples,
    bound: Bound,
    sampled_ns: int,
) -> Finding:
    ns, current = sum(claims.values()), plain(clock.current) if clock else "unknown"
    unstable = clock is not None and clock.marked_unstable
    evidence = [sampled(part, samples, f"reading {current}", sampled_ns, model), *bound.evidence]
    if clock is not None:
        evidence.append(
            Evidence(
                f"in use: {current}; offered: {plain(', '.join(clock.available))}"
                + (f"; kernel log: {plain(clock.log_line)}" if clock.log_line else ""),
                float(len(clock.available)),
                "count",
                "clocksource0",
            )
        )
    why = (
        "find why the kernel marked the counter unstable (kernel log): firmware, migration, hypervisor settings"
        if unstable
        else "make the hypervisor offer its paravirtual clock or an invariant counter to this guest"
    )
    return conclude(
        model,
        claims,
        headline=f"Reading the clock is slow: the clock source {current} is a device",
        claim=f"Reading the clock took {duration(ns)}: the clock source {current} is a device, not the CPU's counter.",
        mechanism=Mechanism.SLOW,
        best=Confidence.MEDIUM,
        doubts=[bound.contradicts(sampled_ns)],
        evidence=evidence,
        remedies=[fix(why), fix("read the clock less often: cache timestamps for logs and statistics")],
        verify=checked(
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource", f"kvm-clock or tsc, now {current}"
        ),
    )
