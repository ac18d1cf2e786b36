"""A rule on CPUs that run below their rated clock."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.delivered_clock import Clock, read_clock, read_loop
from perfdiag.diagnosis.evidence.target import RUNNING, again, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import attempt, duration, fault, fix, judged, percent, plain, worth
from perfdiag.facts.host_facts import FrequencyPolicy
from perfdiag.model.model import Model

# The rated clock is what the CPU was sold for; a tenth below it is more than thermal and measuring noise.
LOW_CLOCK = 0.9
# A package that draws so much of its limit is held down by it.
AT_THE_LIMIT = 0.95


@rule(
    "CPU-FREQUENCY-LOW",
    title="The CPUs run below their rated clock",
    accounts=RUNNING,
    meaning="While they were busy, the CPUs ran at a clock below the rated one (the one without turbo). Every"
    " instruction takes longer by that factor. A governor's name proves nothing and is never a finding:"
    " `powersave` is the healthy default of intel_pstate and amd-pstate.",
    measured="The delivered clock against the rated one: from the CPU's own counters (APERF, MPERF) at the ticks of the"
    " target, else of all that busy CPUs did or from the kernel's samples of them in the window, each CPU weighed by"
    " the time the target had it. Where the CPU tells neither (most guests), the clock that the cpufreq driver"
    " was asked for, weighed by the target's own time at each: an estimate, since a CPU"
    " may run slower than it is asked to. In a guest that shows neither, a calibrated loop of the recorder:"
    " it can rule a low clock out, and books nothing. Its part of cpu.user and cpu.kernel, of virtual CPUs also of"
    " vm.guest and vm.exit, is the most a remedy can give back: code that waits for memory gets less. It takes its"
    " fraction of what more specific findings leave. Looked at for the reason: the limits of the policy and the"
    " firmware, throttle events, the power of the packages (RAPL).",
    alternatives="Few samples; other work on the same CPUs that ran at another clock than the target; a power limit of"
    " the chassis that the host does not show.",
    remedies="A policy that raises the clock while busy; cooling; the power limit of the chassis.",
    verify="The delivered clock in the next report, and the CPU time of the same work.",
    beats=(
        "CPU-BOUND",
        "CPU-KERNEL-HEAVY",
        "CPU-SINGLE-THREAD",
        "KVM-GUEST-CPU",
        "DIR-HUGE",
        "KVM-EXIT-EMULATED-IO",
        "KVM-EXIT-STORM",
        "KVM-HALT-POLLING",
        "PROC-CHILD-SLOW",
    ),
    multiplier=True,
)
def low_clock(model: Model) -> Iterable[Outcome]:
    """Join the delivered clock of busy CPUs with the target's CPU time."""
    clock = read_clock(model)
    if clock is None:
        loop = read_loop(model)
        if loop is not None and worth(model, model.ns(*RUNNING)):
            yield _by_loop(model, loop)
        elif worth(model, model.ns(*RUNNING)):
            yield Silence(
                "CPU-FREQUENCY-LOW",
                "the delivered clock is not known: " + (model.facts.reason("delivered_clock") or "no rated clock"),
                "on the host itself (not a guest): turbostat --quiet --show Busy%,Bzy_MHz sleep 5",
            )
        return
    lost = {name: round(model.ns(name) * max(0.0, 1 - clock.ratio)) for name in RUNNING}
    ns = sum(lost.values())
    if clock.ratio >= LOW_CLOCK or not worth(model, ns):
        name = "clock asked for" if clock.asked_for else "delivered clock"
        yield Check("CPU-FREQUENCY-LOW", f"{name} {_words(clock)}", clock.ratio, "share", large=False)
        return
    if clock.ratio + clock.error >= LOW_CLOCK:
        yield Silence(
            "CPU-FREQUENCY-LOW",
            f"delivered clock {_words(clock)}: too uncertain to call it low",
            f"record longer: {again(model, '--duration 60')}",
        )
        return
    hot = model.facts.thermal_throttle_events
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            f"the clock is an estimate: {clock.method}" if "APERF" not in clock.method else "",
            _others(model, clock),
            "throttling by heat was not measured" if hot is None else "",
        ],
    )
    policies = model.facts.frequency_policies
    yield Finding(
        "CPU-FREQUENCY-LOW",
        fault(model, ns),
        confidence,
        f"Busy CPUs {'were asked to run' if clock.asked_for else 'ran'} at {_words(clock)}: at most {duration(ns)} of"
        f" {subject(model)}'s CPU time is only because of that.",
        {name: ns for name, ns in lost.items() if ns},
        [
            Evidence(f"{_words(clock)} on {clock.cpus} CPUs", clock.ratio, "share", clock.method, error=clock.error),
            *_heat(hot),
            *_held_down(model, policies),
        ],
        _clock_remedies(policies, hot),
        ruled_out=_ruled_out(model, policies, hot),
        alternatives=["a power limit of the chassis", "code that waits for memory gains less"],
        limits=limits,
        verify=f"{again(model)}: the delivered clock under RULED OUT (--full), and cpu.* for the same work",
        headline=f"CPUs {'are asked to run' if clock.asked_for else 'run'} at {percent(clock.ratio)} of their"
        f" {clock.reference.removeprefix('the ')} clock",
        mechanism=Mechanism.LIMIT,
    )


def _by_loop(model: Model, clock: Clock) -> Check | Silence:
    """A loop on another CPU, for a moment: enough to rule a low clock out there, never to book the target's time."""
    text = f"{clock.method}: {_words(clock)}, at the begin or the end of the window"
    if clock.ratio - clock.error >= LOW_CLOCK:
        return Check("CPU-FREQUENCY-LOW", text, clock.ratio, "share", large=False)
    return Silence(
        "CPU-FREQUENCY-LOW",
        f"the clock while {subject(model)} ran is not known in this guest; {text}",
        "on the host: perfdiag latency --pid of the emulator, or turbostat --quiet --show Busy%,Bzy_MHz sleep 5",
    )


def _words(clock: Clock) -> str:
    text = f"{percent(clock.ratio)} of {clock.reference}"
    if clock.hz:
        text = f"{clock.hz / 1e9:.2f} GHz, {text}"
    if clock.reference_hz:
        text += f" {clock.reference_hz / 1e9:.2f} GHz"
    return text + (f" (+-{percent(clock.error)})" if clock.error else "")


def _others(model: Model, clock: Clock) -> str:
    """Return a limit when most of the CPU time in which the clock was measured was not the target's."""
    if clock.own:
        return ""
    times = model.facts.cpu_times_ns
    busy = sum(ns for name, ns in times.items() if name not in ("idle", "iowait") and not name.startswith("guest"))
    if busy and 2 * model.ns(*RUNNING) < busy:
        others = percent(1 - model.ns(*RUNNING) / busy)
        return f"the clock is of all busy CPUs, and {others} of that was not {subject(model)}"
    return ""


def _heat(events: int | None) -> list[Evidence]:
    if not events:
        return []
    return [Evidence(f"{events:,} thermal throttle events", float(events), "count", "thermal_throttle")]


def _rated_hz(policy: FrequencyPolicy) -> int | None:
    return policy.base_hz or policy.hardware_max_hz


def _capped(policies: Sequence[FrequencyPolicy]) -> list[FrequencyPolicy]:
    return [p for p in policies if p.max_hz and (rated := _rated_hz(p)) and p.max_hz < rated]


def _by_firmware(policies: Sequence[FrequencyPolicy]) -> list[FrequencyPolicy]:
    return [p for p in policies if p.firmware_hz and (rated := _rated_hz(p)) and p.firmware_hz < rated]


def _held_down(model: Model, policies: Sequence[FrequencyPolicy]) -> list[Evidence]:
    """Return what is seen to hold the clock down."""
    found = []
    if capped := _capped(policies):
        hz = capped[0].max_hz or 0
        found.append(Evidence(f"the policy allows {hz / 1e9:.2f} GHz at most", float(hz), "Hz", "scaling_max_freq"))
    if firmware := _by_firmware(policies):
        hz = firmware[0].firmware_hz or 0
        found.append(Evidence(f"the firmware allows {hz / 1e9:.2f} GHz at most", float(hz), "Hz", "bios_limit"))
    limits = model.facts.clock_limits
    if limits and limits.allowed_percent is not None and limits.allowed_percent < 100:
        part = limits.allowed_percent
        found.append(Evidence(f"{part} % of the performance is allowed", float(part), "percent", "max_perf_pct"))
    for zone in limits.zones if limits else ():
        if zone.enabled and zone.watts and zone.limit_watts and zone.watts >= AT_THE_LIMIT * zone.limit_watts:
            text = f"{plain(zone.name)} draws {zone.watts:.0f} W, its limit is {zone.limit_watts:.0f} W"
            found.append(Evidence(text, zone.watts, "W", "RAPL"))
    return found


def _ruled_out(model: Model, policies: Sequence[FrequencyPolicy], hot: int | None) -> list[str]:
    """Return what does not hold it down, each with its number; what was not read is not in it."""
    found = ["heat: 0 throttle events in the window"] if hot == 0 else []
    allowed = [p.max_hz for p in policies if p.max_hz]
    if allowed and not _capped(policies):
        found.append(f"a limit of the policy: it allows {min(allowed) / 1e9:.2f} GHz")
    firmware = [p.firmware_hz for p in policies if p.firmware_hz]
    if firmware and not _by_firmware(policies):
        found.append(f"a limit of the firmware: it allows {min(firmware) / 1e9:.2f} GHz")
    limits = model.facts.clock_limits
    return found + [
        f"a power limit: {plain(zone.name)} draws {zone.watts:.0f} of {zone.limit_watts:.0f} W"
        for zone in (limits.zones if limits else ())
        if zone.watts is not None and zone.limit_watts and zone.watts < AT_THE_LIMIT * zone.limit_watts
    ]


def _clock_remedies(policies: Sequence[FrequencyPolicy], hot: int | None) -> list[Remedy]:
    if hot:
        return [fix("the CPUs are throttled by heat: look at fans, air flow and the cooler before any policy")]
    found = []
    if _by_firmware(policies):
        found.append(fix("the firmware limits the clock (bios_limit): power and heat settings of the BMC or the BIOS"))
    capped = [p for p in _capped(policies) if p.hardware_max_hz]
    if capped and capped[0].hardware_max_hz and capped[0].max_hz:
        present, wanted = capped[0].max_hz // 1000, capped[0].hardware_max_hz // 1000
        found.append(
            attempt(
                f"cpupower frequency-set -u {wanted}kHz",
                f"cpupower frequency-set -u {present}kHz",
                f"highest clock allowed {present} kHz",
            )
        )
    found += _other_governor(policies)
    return [
        *found,
        fix("look at the power profile of the firmware and at power limits (RAPL, chassis); in a guest: at the host's"),
    ]


def _other_governor(policies: Sequence[FrequencyPolicy]) -> list[Remedy]:
    """Return the trial of the performance governor, if all CPUs have one and the same other now."""
    governors = {policy.governor for policy in policies if policy.governor}
    if len(governors) != 1 or governors == {"performance"}:
        return []
    present = governors.pop()
    preference = next((p.energy_preference for p in policies if p.energy_preference), None)
    undo, value = f"cpupower frequency-set -g {shlex.quote(present)}", f"governor {plain(present)}"
    if present == "userspace":
        clocks = {policy.begin_hz for policy in policies}
        fixed_hz = clocks.pop() if len(clocks) == 1 else None
        if fixed_hz is None:
            return []
        undo, value = f"cpupower frequency-set -f {fixed_hz // 1000}kHz", f"governor userspace, {fixed_hz // 1000} kHz"
    value += f", energy preference {plain(preference)}" if preference else ""
    return [attempt("cpupower frequency-set -g performance", undo, value)]


__all__ = ["low_clock"]
