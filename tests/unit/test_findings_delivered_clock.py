"""CPU-FREQUENCY-LOW: the clock of the target's own time, what it is known from, and what holds it down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity
from perfdiag.facts.host_facts import ClockLimits, DeliveredClock, FrequencyPolicy, Hypervisor, PowerZone
from perfdiag.facts.processor import Processor
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, silence
from unit.support.known import blank

CLOCK = "CPU-FREQUENCY-LOW"


def clock(ratio: float | None, error: float = 0.01, method: str = "APERF/MPERF over the window") -> DeliveredClock:
    hz = None if ratio is None else ratio * 2.4e9
    return DeliveredClock(hz=hz, ratio=ratio, error_ratio=error, rated_hz=2_400_000_000, cpus=4, method=method)


def policy(**known: Any) -> FrequencyPolicy:
    return blank(
        FrequencyPolicy,
        name="policy0",
        **(
            {
                "governor": "powersave",
                "energy_preference": "power",
                "max_hz": 3_500_000_000,
                "base_hz": 2_400_000_000,
                "hardware_max_hz": 3_500_000_000,
            }
            | known
        ),
    )


def computing(**facts: Any) -> Model:
    model = Builder().thread("app", cpu_user="7 s", cpu_kernel="1 s").model()
    return knowing(model, **({"thermal_throttle_events": 0} | facts))


def test_a_low_clock_gives_back_at_most_its_part() -> None:
    found = finding(computing(delivered_clock=clock(0.5), frequency_policies=[policy()]), CLOCK)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "1.20 GHz, 50 % of rated 2.40 GHz" in found.claim
    assert dict(found.claims) == {"cpu.user": 3_500_000_000, "cpu.kernel": 500_000_000}


def test_the_trial_knows_the_present_policy() -> None:
    first = finding(computing(delivered_clock=clock(0.5), frequency_policies=[policy()]), CLOCK).remedies[0]
    assert first.kind is RemedyKind.TRY and first.text == "cpupower frequency-set -g performance"
    assert first.undo == "cpupower frequency-set -g powersave" and "powersave" in first.present_value


def test_a_capped_policy_is_lifted_to_what_the_hardware_can() -> None:
    capped = policy(max_hz=1_200_000_000, governor="performance")
    first = finding(computing(delivered_clock=clock(0.5), frequency_policies=[capped]), CLOCK).remedies[0]
    assert (first.text, first.undo) == ("cpupower frequency-set -u 3500000kHz", "cpupower frequency-set -u 1200000kHz")


def test_heat_is_not_answered_with_a_policy() -> None:
    found = finding(
        computing(delivered_clock=clock(0.5), thermal_throttle_events=12, frequency_policies=[policy()]), CLOCK
    )
    assert [remedy.kind for remedy in found.remedies] == [RemedyKind.FIX] and "heat" in found.remedies[0].text
    assert not any("heat" in text for text in found.ruled_out)


def test_powersave_alone_is_never_a_finding() -> None:
    assert check(computing(delivered_clock=clock(1.2), frequency_policies=[policy()]), CLOCK).number == 1.2
    silence(computing(frequency_policies=[policy()]), CLOCK)


def test_a_tenth_below_rated_is_within_what_cpus_do() -> None:
    check(computing(delivered_clock=clock(0.92)), CLOCK)
    assert "too uncertain" in silence(computing(delivered_clock=clock(0.85, error=0.1)), CLOCK).reason


def test_a_clock_that_was_not_measured_is_unknown() -> None:
    assert silence(computing(), CLOCK)
    assert "no rated clock" in silence(computing(delivered_clock=clock(None)), CLOCK).reason


def test_samples_of_the_kernel_are_an_estimate() -> None:
    found = finding(computing(delivered_clock=clock(0.5, method="scaling_cur_freq, 40 samples")), CLOCK)
    assert found.confidence is Confidence.MEDIUM


def test_a_clock_of_other_peoples_work_is_less_sure() -> None:
    model = computing(delivered_clock=clock(0.5), cpu_times_ns={"user": 40_000_000_000, "idle": 5})
    assert "80 %" in finding(model, CLOCK).limits[0]


def test_a_low_clock_comes_before_the_code_that_suffers_from_it() -> None:
    diagnosis = diagnose(computing(delivered_clock=clock(0.5)))
    assert [found.id for found in diagnosis.findings] == [CLOCK, "CPU-BOUND"]
    assert [found.share for found in diagnosis.findings] == pytest.approx([0.5, 3.5 / 8])


def test_each_cpu_is_weighed_with_the_time_the_target_had_it() -> None:
    """The busiest CPU of the host was another one, at full clock."""
    counted = replace(clock(0.95), cpu_ratios={0: 0.5, 1: 1.0})
    model = Builder().thread("app", cpu_user="7 s", cpu_kernel="1 s").cpu(0, "7500 ms").cpu(1, "500 ms").model()
    found = finding(knowing(model, delivered_clock=counted, thermal_throttle_events=0), CLOCK)
    assert "53 %" in found.claim
    # Of a fifth of its time nothing is known: then the clock of all busy CPUs has to do.
    partly = replace(clock(0.95), cpu_ratios={0: 0.5})
    model = Builder().thread("app", cpu_user="8 s").cpu(0, "6400 ms").cpu(1, "1600 ms").model()
    assert check(knowing(model, delivered_clock=partly), CLOCK).number == 0.95


def test_cycles_counted_in_the_targets_own_time_come_first() -> None:
    """The counters of all that its CPUs did say something else, and neighbours used most of them."""
    builder = Builder().thread("app", cpu_user="7 s", cpu_kernel="1 s")
    builder.cpu(0, "6 s", counted=(1400, 7_200_000_000, 14_400_000_000))
    builder.cpu(1, "2 s", counted=(400, 2_400_000_000, 4_800_000_000))
    known = {
        "delivered_clock": clock(1.0),
        "processor": blank(Processor, rated_hz=2_400_000_000),
        "thermal_throttle_events": 0,
        "cpu_times_ns": {"user": 40_000_000_000, "idle": 5},
    }
    found = finding(knowing(builder.model(), **known), CLOCK)
    assert "1.20 GHz, 50 % of rated 2.40 GHz" in found.claim and found.confidence is Confidence.HIGH
    assert found.evidence[0].probe == "APERF/MPERF over 1,800 ticks of the target"
    few = Builder().thread("app", cpu_user="8 s").cpu(0, "8 s", counted=(9, 1, 2)).model()
    assert check(knowing(few, **known), CLOCK).number == 1.0, "too few ticks"


ACPI = {"driver": "acpi-cpufreq", "base_hz": None, "hardware_max_hz": 2_400_000_000, "cpus": "0"}


def asked(*cpus: tuple[Any, ...], **known: Any) -> Model:
    """A target on CPU 0 whose clock was set: (ran, clock)."""
    builder = Builder().thread("app", cpu_user="7 s", cpu_kernel="1 s")
    for number, (ran, set_to) in enumerate(cpus):
        builder.cpu(number, ran, clock=set_to, changes=3)
    policies = [policy(**(ACPI | {"cpus": str(n)} | known)) for n in range(len(cpus))]
    return knowing(builder.model(), frequency_policies=policies, thermal_throttle_events=0)


def test_the_clock_that_was_asked_for_is_an_estimate() -> None:
    found = finding(asked(("8 s", ("8 s", 1_200_000_000))), CLOCK)
    assert "1.20 GHz" in found.claim and "50 %" in found.claim and "2.40 GHz" in found.claim
    assert found.confidence is Confidence.MEDIUM and "estimate" in found.limits[0]
    assert found.claims["cpu.user"] == 3_500_000_000


def test_the_clock_that_was_asked_for_is_weighed_by_the_targets_time() -> None:
    """Half of its time at each; the clock that was set before the window is known from its begin."""
    model = asked(("8 s", ("4 s", 2_400_000_000)), begin_hz=1_200_000_000)
    assert "1.80 GHz, 75 %" in finding(model, CLOCK).claim
    assert (
        "2.30 GHz" in check(asked(("8 s", ("8 s", 2300000000))), CLOCK).text
        and "96 %" in check(asked(("8 s", ("8 s", 2300000000))), CLOCK).text
    )
    assert silence(asked(("8 s", ("4 s", 1200000000))), CLOCK)


def test_a_clock_whose_changes_were_not_seen_is_not_the_one_of_the_begin() -> None:
    builder = Builder().thread("app", cpu_user="8 s").cpu(0, "8 s").without("clock")
    known = policy(**(ACPI | {"begin_hz": 1_200_000_000}))
    silence(knowing(builder.model(), frequency_policies=[known]), CLOCK)


def test_a_driver_that_counts_turbo_in_has_no_rated_clock() -> None:
    for driver in ("intel_pstate", "amd-pstate-epp", "amd-pstate", "cppc_cpufreq", None):
        silence(asked(("8 s", ("8 s", 1_200_000_000)), driver=driver), CLOCK)


def looped(shortest_ns: int, median_ns: int, machine: str = "kvm", *, tries: int = 400) -> Model:
    """A guest whose CPUs are rated at 3 GHz: 30,000 cycles take 10 us."""
    builder = Builder().thread("app", cpu_user="8 s").calibration(shortest_ns, median_ns, tries=tries)
    processor = blank(Processor, rated_hz=3_000_000_000)
    return knowing(
        builder.calibration(2 * shortest_ns, tries=tries).model(),
        hypervisor=Hypervisor(machine, "test"),
        processor=processor,
    )


def test_a_calibrated_loop_rules_a_low_clock_out_in_a_guest() -> None:
    said = check(looped(10_020, 10_032), CLOCK)
    assert "calibrated loop" in said.text and "2.99 GHz, >99 % of rated 3.00 GHz" in said.text


def test_a_calibrated_loop_alone_is_no_finding() -> None:
    """It ran on another CPU, and for a moment."""
    assert "1.50 GHz, 50 % of rated" in silence(looped(20_000, 20_050), CLOCK).reason
    assert "calibrated loop" in silence(looped(10_100, 14_000), CLOCK).reason, "too uncertain"


def test_a_loop_on_an_emulated_processor_says_nothing() -> None:
    for model in (looped(40_000, 40_000, "qemu"), looped(10_000, 10_000, "unknown"), looped(10_000, 10_000, tries=9)):
        assert "calibrated loop" not in silence(model, CLOCK).reason


def test_what_holds_the_clock_down_is_named_or_ruled_out() -> None:
    def limits(*zones: PowerZone, allowed: int | None = None) -> dict[str, Any]:
        return {"clock_limits": ClockLimits(turbo=False, allowed_percent=allowed, zones=zones)}

    free = PowerZone("package-0", 61.0, 165.0, enabled=True)
    found = finding(computing(delivered_clock=clock(0.5), **limits(free, allowed=100)), CLOCK)
    assert "61" in " ".join(found.ruled_out) and "165 W" in " ".join(found.ruled_out)
    full = PowerZone("package-0", 164.0, 165.0, enabled=True)
    firmware = policy(firmware_hz=1_200_000_000)
    found = finding(
        computing(delivered_clock=clock(0.5), frequency_policies=[firmware], **limits(full, allowed=40)), CLOCK
    )
    texts = " ".join(evidence.text for evidence in found.evidence)
    assert "164 W" in texts and "165 W" in texts and "1.20 GHz" in texts and "40 %" in texts
    assert not any("power" in text or "firmware" in text for text in found.ruled_out)
    assert "firmware" in found.remedies[0].text
    unread = PowerZone("package-0", None, 165.0, enabled=None)
    found = finding(computing(delivered_clock=clock(0.5), **limits(unread)), CLOCK)
    assert not any("power" in text for text in found.ruled_out), "unknown is not ruled out"


def test_a_clock_set_by_hand_is_put_back_by_the_undo() -> None:
    fixed = policy(**(ACPI | {"governor": "userspace", "energy_preference": None, "begin_hz": 1_200_000_000}))
    first = finding(computing(delivered_clock=clock(0.5), frequency_policies=[fixed]), CLOCK).remedies[0]
    assert (first.text, first.undo) == ("cpupower frequency-set -g performance", "cpupower frequency-set -f 1200000kHz")
    assert first.present_value == "governor userspace, 1200000 kHz"


def test_a_low_clock_takes_its_part_of_what_virtual_cpus_run() -> None:
    builder = Builder(comm="qemu-kvm").thread("CPU 0/KVM", vm_guest="6 s", cpu_user="500 ms", vm_halt="3 s")
    found = finding(knowing(builder.model(), delivered_clock=clock(0.5), thermal_throttle_events=0), CLOCK)
    assert found.claims["vm.guest"] == 3_000_000_000 and found.severity is Severity.WARNING
