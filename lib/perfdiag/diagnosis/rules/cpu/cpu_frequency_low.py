"""CPU-FREQUENCY-LOW: the CPUs run below their rated clock."""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from perfdiag.diagnosis.evidence.cpu.delivered_clock import Clock, read_clock, read_loop
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.target import RUNNING, again, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import attempt, duration, fix, percent, plain, worth
from perfdiag.facts.host_facts import FrequencyPolicy
from perfdiag.model.model import Model


@rule(
    "CPU-FREQUENCY-LOW",
    title="The CPUs run below their rated clock",
    accounts=RUNNING,
    meaning=(
        "Busy CPUs ran below the rated (non-turbo) clock, so every instruction took longer. The claimed time is the"
        " most a fix can save: code that waits for memory gains less. The governor's name proves nothing."
    ),
    measured=(
        "APERF/MPERF at the target's own ticks, else of all busy CPUs, weighed by the target's time on each. Without"
        " these counters (most guests) the clock requested by cpufreq, as an estimate. A calibrated loop can rule a"
        " low clock out, but claims no time."
    ),
    alternatives=(
        "Few samples. Other work on the same CPUs ran at another clock. The chassis limits power and the host does"
        " not show it."
    ),
    remedies="Choose a policy with a higher clock, fix the cooling, or raise the power limit.",
    verify="With --full, the clock is over 90 % of the rated one.",
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
                "the delivered clock is unknown: " + (model.facts.reason("delivered_clock") or "no rated clock"),
                "on the host itself (not a guest): turbostat --quiet --show Busy%,Bzy_MHz sleep 5",
            )
        return
    lost = {name: round(model.ns(name) * max(0.0, 1 - clock.ratio)) for name in RUNNING}
    ns = sum(lost.values())
    if clock.ratio >= cpu_policy.low_clock_share or not worth(model, ns):
        name = "requested clock" if clock.asked_for else "delivered clock"
        yield Check("CPU-FREQUENCY-LOW", f"{name} {_words(clock)}", clock.ratio, "share", large=False)
        return
    if clock.ratio + clock.error >= cpu_policy.low_clock_share:
        yield Silence(
            "CPU-FREQUENCY-LOW",
            f"the delivered clock is too uncertain: {_words(clock)}",
            f"record longer: {again(model, '--duration 60')}",
        )
        return
    yield _finding(model, clock, lost)


def _finding(model: Model, clock: Clock, lost: Mapping[str, int]) -> Finding:
    ns, hot, policies = sum(lost.values()), model.facts.thermal_throttle_events, model.facts.frequency_policies
    return conclude(
        model,
        {name: ns for name, ns in lost.items() if ns},
        headline=(
            f"CPUs {'are set to run' if clock.asked_for else 'run'} at {percent(clock.ratio)} of their"
            f" {clock.reference.removeprefix('the ')} clock"
        ),
        claim=(
            f"Busy CPUs {'were set to run' if clock.asked_for else 'ran'} at {_words(clock)}. This costs"
            f" {subject(model)} up to {duration(ns)} of CPU time."
        ),
        mechanism=Mechanism.LIMIT,
        doubts=[
            f"the clock is an estimate ({clock.method})" if "APERF" not in clock.method else "",
            _others(model, clock),
            "thermal throttling was not measured" if hot is None else "",
        ],
        evidence=[
            Evidence(f"{_words(clock)} on {clock.cpus} CPUs", clock.ratio, "share", clock.method, error=clock.error),
            *_heat(hot),
            *_held_down(model, policies),
        ],
        remedies=_clock_remedies(policies, hot),
        ruled_out=_ruled_out(model, policies, hot),
        alternatives=["the chassis limits power"],
        verify=measured(
            model,
            f"clock over {percent(cpu_policy.low_clock_share)} of {clock.reference}, now {percent(clock.ratio)}",
            "--full",
        ),
    )


def _by_loop(model: Model, clock: Clock) -> Check | Silence:
    """Judge by a short loop on another CPU: it can rule a low clock out, but never claims the target's time."""
    text = f"{_words(clock)} at the start or end of the window ({clock.method})"
    if clock.ratio - clock.error >= cpu_policy.low_clock_share:
        return Check("CPU-FREQUENCY-LOW", text, clock.ratio, "share", large=False)
    return Silence(
        "CPU-FREQUENCY-LOW",
        f"this guest cannot see the clock while {subject(model)} ran; {text}",
        "on the host: perfdiag latency --pid PID of the emulator",
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
        return f"the clock covers all busy CPUs; {others} of their time was not {subject(model)}"
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
    """Return what limits the clock."""
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
        found.append(Evidence(f"max_perf_pct allows {part} %", float(part), "percent", "max_perf_pct"))
    for zone in limits.zones if limits else ():
        if (
            zone.enabled
            and zone.watts
            and zone.limit_watts
            and zone.watts >= cpu_policy.at_power_limit_share * zone.limit_watts
        ):
            text = f"{plain(zone.name)} draws {zone.watts:.0f} W of its limit of {zone.limit_watts:.0f} W"
            found.append(Evidence(text, zone.watts, "W", "RAPL"))
    return found


def _ruled_out(model: Model, policies: Sequence[FrequencyPolicy], hot: int | None) -> list[str]:
    """Return what does not limit the clock, each with its number; what was not read is left out."""
    found = ["heat: 0 throttle events"] if hot == 0 else []
    allowed = [p.max_hz for p in policies if p.max_hz]
    if allowed and not _capped(policies):
        found.append(f"the policy: it allows {min(allowed) / 1e9:.2f} GHz")
    firmware = [p.firmware_hz for p in policies if p.firmware_hz]
    if firmware and not _by_firmware(policies):
        found.append(f"the firmware: it allows {min(firmware) / 1e9:.2f} GHz")
    limits = model.facts.clock_limits
    return found + [
        f"the power limit: {plain(zone.name)} draws {zone.watts:.0f} of {zone.limit_watts:.0f} W"
        for zone in (limits.zones if limits else ())
        if zone.watts is not None
        and zone.limit_watts
        and zone.watts < cpu_policy.at_power_limit_share * zone.limit_watts
    ]


def _clock_remedies(policies: Sequence[FrequencyPolicy], hot: int | None) -> list[Remedy]:
    if hot:
        return [fix("check fans, air flow and the cooler: heat throttles these CPUs")]
    found = []
    if _by_firmware(policies):
        found.append(fix("raise the firmware's limit (bios_limit): power and thermal settings in the BMC or BIOS"))
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
        fix("check the firmware's power profile and power limits (RAPL, chassis); for a guest, on its host"),
    ]


def _other_governor(policies: Sequence[FrequencyPolicy]) -> list[Remedy]:
    """Return a trial of the performance governor if all CPUs share another one."""
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
