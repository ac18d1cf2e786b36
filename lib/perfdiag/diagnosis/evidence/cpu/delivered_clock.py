"""The CPU clock during the target's time: delivered where known, else requested."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.facts.host_facts import DeliveredClock, FrequencyPolicy
from perfdiag.facts.texts import words_of
from perfdiag.model.model import Model
from perfdiag.recording import schema

# Processors in software, or possibly: a calibrated loop means nothing there.
EMULATED = frozenset({"none", "qemu", "unknown"})
# Drivers whose highest clock is the rated one (acpi-cpufreq shows turbo as 1 MHz more).  Those of intel_pstate,
# amd-pstate and cppc_cpufreq count turbo in, and what a policy was asked for says little there.
RATED_BY_TABLE = frozenset({"acpi-cpufreq", "powernow-k8", "pcc-cpufreq", "cpufreq-dt", "p4-clockmod", "speedstep"})


@dataclass(frozen=True)
class Clock:
    """The clock of the CPUs while the target ran."""

    ratio: float  # to `reference_hz`
    error: float  # half width of `ratio`
    hz: float | None
    reference_hz: int | None
    reference: str  # "rated", or "the highest": what the driver offers
    method: str
    cpus: int
    asked_for: bool  # requested by the driver, not measured
    own: bool  # in the target's own time, not of everything its CPUs ran


def read_clock(model: Model) -> Clock | None:
    """Return the delivered clock, else the one asked for; None when neither is known."""
    if counted := _by_ticks(model):
        return counted
    delivered = model.facts.delivered_clock
    if delivered is not None and delivered.ratio is not None:
        return _delivered(model, delivered, delivered.ratio)
    return _asked_for(model)


def _by_ticks(model: Model) -> Clock | None:
    """Return the clock from cycles counted in the target's own time."""
    counted = [cpu for cpu in model.cpus if cpu.rated_cycles and cpu.clock_ticks]
    ticks, rated = sum(cpu.clock_ticks for cpu in counted), sum(cpu.rated_cycles for cpu in counted)
    if ticks < cpu_policy.clock_ticks:
        return None
    processor = model.facts.processor
    rated_hz = processor.rated_hz if processor else None
    ratio = sum(cpu.delivered_cycles for cpu in counted) / rated
    spread = sum(cpu.rated_cycles * (cpu.delivered_cycles / cpu.rated_cycles - ratio) ** 2 for cpu in counted) / rated
    return Clock(
        ratio=ratio,
        error=math.sqrt(spread),
        hz=ratio * rated_hz if rated_hz else None,
        reference_hz=rated_hz,
        reference="rated",
        method=f"APERF/MPERF over {ticks:,} ticks of {subject(model)}",
        cpus=len(counted),
        asked_for=False,
        own=True,
    )


def read_loop(model: Model) -> Clock | None:
    """Return the clock of a calibrated loop: of one CPU for a moment, at the begin and the end; the faster counts.

    None where it means nothing: without a rated clock, on emulated processors, or where no try was undisturbed.
    """
    machine, processor = model.facts.hypervisor, model.facts.processor
    rated_hz = processor.rated_hz if processor else None
    loops = [loop for loop in model.calibrations if loop.shortest_ns and loop.tries >= cpu_policy.clock_tries]
    if not loops or not rated_hz or machine is None or machine.name in EMULATED:
        return None
    best = min(loops, key=lambda loop: loop.shortest_ns / loop.cycles)
    hz = best.cycles * 1e9 / best.shortest_ns
    error = max(best.median_ns / best.shortest_ns - 1, cpu_policy.clock_read_ns / best.shortest_ns)
    return Clock(
        ratio=hz / rated_hz,
        error=error * hz / rated_hz,
        hz=hz,
        reference_hz=rated_hz,
        reference="rated",
        method=f"calibrated loop, best of {sum(loop.tries for loop in loops):,} tries on the recorder's CPU",
        cpus=1,
        asked_for=False,
        own=False,
    )


def _delivered(model: Model, clock: DeliveredClock, ratio: float) -> Clock:
    error, weighted, cpus = clock.error_ratio or 0.0, False, clock.cpus
    known = [(cpu.ran_ns, clock.cpu_ratios[cpu.cpu]) for cpu in model.cpus if cpu.cpu in clock.cpu_ratios]
    ran_ns = sum(ns for ns, _ in known)
    if ran_ns and ran_ns >= cpu_policy.clock_known_share * sum(cpu.ran_ns for cpu in model.cpus):
        ratio = sum(ns * part for ns, part in known) / ran_ns
        spread = math.sqrt(sum(ns * (part - ratio) ** 2 for ns, part in known) / ran_ns)
        # Samples keep the error of their number.
        error = spread if "APERF" in clock.method else max(spread, error)
        weighted, cpus = True, len(known)
    return Clock(
        ratio=ratio,
        error=error,
        hz=ratio * clock.rated_hz if clock.rated_hz else None,
        reference_hz=clock.rated_hz,
        reference="rated",
        method=clock.method + (f", weighted by {subject(model)}'s time per CPU" if weighted else ""),
        cpus=cpus,
        asked_for=False,
        own=False,
    )


def _asked_for(model: Model) -> Clock | None:
    """Return the clock requested from the drivers, weighted by the target's time at each."""
    if not model.measured("clock"):
        return None  # a clock that was set meanwhile was not seen
    policies = _by_cpu(model)
    ran_ns = sum(cpu.ran_ns for cpu in model.cpus)
    known_ns, cycles, rated, highest, known = 0, 0, 0, 0, 0
    for cpu in model.cpus:
        policy = policies.get(cpu.cpu)
        reference_hz = _reference_hz(policy)
        if policy is None or reference_hz is None:
            continue
        ns, own = _cycles(cpu, policy)
        known_ns += ns
        cycles += own
        rated += ns * reference_hz // 1_000_000_000
        highest = max(highest, reference_hz)
        known += bool(ns)
    if not rated or known_ns < cpu_policy.clock_known_share * ran_ns:
        return None
    changes = sum(cpu.clock_changes for cpu in model.cpus)
    return Clock(
        ratio=cycles / rated,
        error=0.0,
        hz=cycles * 1e9 / known_ns,
        reference_hz=highest,
        reference="the highest",
        method=f"cpufreq requests, {changes:,} changes, weighted by {subject(model)}'s time at each clock",
        cpus=known,
        asked_for=True,
        own=True,
    )


def _cycles(cpu: schema.Cpu, policy: FrequencyPolicy) -> tuple[int, int]:
    """Return for how long the clock of a CPU is known while the target had it, and its cycles in that time."""
    before_ns = max(0, cpu.ran_ns - cpu.clock_ns)
    if policy.begin_hz is None:
        return cpu.clock_ns, cpu.clock_cycles
    return cpu.clock_ns + before_ns, cpu.clock_cycles + before_ns * policy.begin_hz // 1_000_000_000


def _reference_hz(policy: FrequencyPolicy | None) -> int | None:
    if policy is None:
        return None
    if policy.base_hz:
        return policy.base_hz
    return policy.hardware_max_hz if policy.driver in RATED_BY_TABLE else None


def _by_cpu(model: Model) -> Mapping[int, FrequencyPolicy]:
    return {
        int(word): policy
        for policy in model.facts.frequency_policies
        for word in words_of(policy.cpus)
        if word.isascii() and word.isdigit() and len(word) < 7
    }
