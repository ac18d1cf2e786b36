"""A rule on CPUs that run below their rated clock."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from perfdiag.facts import DeliveredClock
from perfdiag.findings.base import Check, Confidence, Evidence, Finding, Outcome, Remedy, Silence, rule
from perfdiag.findings.target import CPU, again
from perfdiag.findings.weigh import attempt, duration, fault, fix, judged, percent, worth
from perfdiag.model import Model

# The rated clock is what the CPU was sold for; a tenth below it is more than thermal and measuring noise.
LOW_CLOCK = 0.9


@rule(
    "CPU-FREQUENCY-LOW",
    title="The CPUs run below their rated clock",
    accounts=CPU,
    meaning="While they were busy, the CPUs ran at a clock below the rated one (the one without turbo). Every"
    " instruction takes longer by that factor. A governor's name proves nothing and is never a finding:"
    " `powersave` is the healthy default of intel_pstate and amd-pstate.",
    measured="The delivered clock of busy CPUs, from the hardware's own counters or the kernel's samples in the window,"
    " against the rated clock. Its part of cpu.user and cpu.kernel is the most a remedy can give back: code that"
    " waits for memory gets less. It takes its fraction of what more specific findings leave.",
    alternatives="Heat or a power limit (throttle events are shown), few samples, other work on the same CPUs that ran"
    " at another clock than the target.",
    remedies="A policy that raises the clock while busy; cooling; the power limit of the chassis.",
    verify="The delivered clock in the next report, and the CPU time of the same work.",
    refines=("CPU-BOUND", "CPU-KERNEL-HEAVY", "CPU-SINGLE-THREAD"),
)
def low_clock(model: Model) -> Iterable[Outcome]:
    """Join the delivered clock of busy CPUs with the target's CPU time."""
    clock = model.facts.delivered_clock
    if clock is None or clock.ratio is None:
        if worth(model, model.ns(*CPU)):
            yield Silence(
                "CPU-FREQUENCY-LOW",
                "the delivered clock is not known: " + (model.facts.reason("delivered_clock") or "no rated clock"),
                "on the host itself (not a guest): turbostat --quiet --show Busy%,Bzy_MHz sleep 5",
            )
        return
    error = clock.error_ratio or 0.0
    lost = {name: round(model.ns(name) * max(0.0, 1 - clock.ratio)) for name in CPU}
    ns = sum(lost.values())
    if clock.ratio >= LOW_CLOCK or not worth(model, ns):
        yield Check("CPU-FREQUENCY-LOW", f"delivered clock {_clock(clock)}", clock.ratio, "share", large=False)
        return
    if clock.ratio + error >= LOW_CLOCK:
        yield Silence(
            "CPU-FREQUENCY-LOW",
            f"delivered clock {_clock(clock)}: too uncertain to call it low",
            f"record longer: {again(model)} --duration 60",
        )
        return
    hot = model.facts.thermal_throttle_events
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "" if "APERF" in clock.method else f"the clock is an estimate: {clock.method}",
            _others(model),
            "throttling by heat was not measured" if hot is None else "",
        ],
    )
    yield Finding(
        "CPU-FREQUENCY-LOW",
        fault(model, ns),
        confidence,
        f"Busy CPUs ran at {_clock(clock)}: at most {duration(ns)} of the target's CPU time is only because of that.",
        {name: ns for name, ns in lost.items() if ns},
        [
            Evidence(
                f"{_clock(clock)} on {clock.cpus} CPUs", clock.ratio, "share", clock.method, error=clock.error_ratio
            ),
            *_heat(hot),
        ],
        _clock_remedies(model, hot),
        ruled_out=["heat: 0 throttle events in the window"] if hot == 0 else [],
        alternatives=["a power limit of the CPU or chassis", "code that waits for memory gains less"],
        limits=limits,
        verify=f"{again(model)}: the delivered clock in CHECKED, and cpu.* for the same work",
    )


def _clock(clock: DeliveredClock) -> str:
    ratio = clock.ratio or 0.0
    text = f"{percent(ratio)} of rated"
    if clock.hz:
        text = f"{clock.hz / 1e9:.2f} GHz, {text}"
    if clock.rated_hz:
        text += f" {clock.rated_hz / 1e9:.2f} GHz"
    return text + (f" (+-{percent(clock.error_ratio)})" if clock.error_ratio else "")


def _others(model: Model) -> str:
    """Return a limit when most of the CPU time in which the clock was measured was not the target's."""
    times = model.facts.cpu_times_ns
    busy = sum(ns for name, ns in times.items() if name not in ("idle", "iowait") and not name.startswith("guest"))
    if busy and 2 * model.ns(*CPU) < busy:
        return f"the clock is of all busy CPUs, and {percent(1 - model.ns(*CPU) / busy)} of that was not the target"
    return ""


def _heat(events: int | None) -> list[Evidence]:
    if not events:
        return []
    return [Evidence(f"{events:,} thermal throttle events", float(events), "count", "thermal_throttle")]


def _clock_remedies(model: Model, hot: int | None) -> list[Remedy]:
    if hot:
        return [fix("the CPUs are throttled by heat: look at fans, air flow and the cooler before any policy")]
    found = []
    policies = model.facts.frequency_policies
    capped = [p for p in policies if p.max_hz and p.base_hz and p.max_hz < p.base_hz]
    if capped and capped[0].hardware_max_hz and capped[0].max_hz:
        present, wanted = capped[0].max_hz // 1000, capped[0].hardware_max_hz // 1000
        found.append(
            attempt(
                f"cpupower frequency-set -u {wanted}kHz",
                f"cpupower frequency-set -u {present}kHz",
                f"highest clock allowed {present} kHz",
            )
        )
    governors = {policy.governor for policy in policies if policy.governor}
    if len(governors) == 1 and governors != {"performance"}:
        present_governor = governors.pop()
        preference = next((p.energy_preference for p in policies if p.energy_preference), None)
        found.append(
            attempt(
                "cpupower frequency-set -g performance",
                f"cpupower frequency-set -g {shlex.quote(present_governor)}",
                f"governor {present_governor}" + (f", energy preference {preference}" if preference else ""),
            )
        )
    return [
        *found,
        fix("look at the power profile of the firmware and at power limits (RAPL, chassis); in a guest: at the host's"),
    ]


__all__ = ["low_clock"]
