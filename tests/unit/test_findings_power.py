"""CPU-IDLE-EXIT-LATENCY, CPU-IRQ-HEAVY: what happens to a CPU besides the work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.rule import Check, Confidence, Finding, RemedyKind, Severity, Silence
from perfdiag.facts.host_facts import Hypervisor, IdleState, Interface
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence
from unit.support.known import blank

IDLE, IRQ = "CPU-IDLE-EXIT-LATENCY", "CPU-IRQ-HEAVY"


# CPU-IDLE-EXIT-LATENCY


def test_wake_ups_whose_rows_are_missing_are_not_fine() -> None:
    """A recording that was cut off before it said from which state."""
    cut = replace(woken({"idle:2": {"45 us": 20_000}}), rows=[])
    assert "unknown what" in silence(cut, IDLE).reason


def state(index: int, name: str, latency_ns: int | None, disabled: int = 0) -> IdleState:
    return blank(IdleState, index=index, name=name, exit_latency_ns=latency_ns, disabled_cpus=disabled, cpus=8)


STATES = [state(0, "POLL", 0), state(1, "C1", 2_000), state(2, "C1E", 10_000), state(3, "C6", 133_000)]


def woken(waits: dict[str, dict[str, int]], **facts: Any) -> Model:
    builder = Builder().thread("io", cpu_user="1 s")
    for key, durations in waits.items():
        builder.row("runq.waking", key, durations=durations)
    return knowing(builder.model(), **({"idle_states": STATES} | facts))


def test_a_deep_state_is_named_with_what_it_declares() -> None:
    found = finding(woken({"idle:3": {"150 us": 10_000}, "idle:2": {"15 us": 10_000}}), IDLE)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert dict(found.claims) == {("runq.waking", "idle:3"): 1_350_000_000}, "less what C1E takes too"
    assert "15.0 us" in found.evidence[1].text
    assert "C6 100 %" in found.claim
    measured = found.evidence[0].text
    assert "10,000" in measured and "C6" in measured and "133 us" in measured
    assert "p50 150 us" in measured and "p99 150 us" in measured
    first = found.remedies[0]
    assert (first.text, first.undo) == ("cpupower idle-set -D 50", "cpupower idle-set -E")
    assert "C6 133" in first.present_value


def test_waking_that_takes_as_long_from_shallow_states_is_not_the_deep_ones_fault() -> None:
    """As in an emulated machine: forbidding the deep ones would give back nothing."""
    same = check(woken({"idle:3": {"110 us": 10_000}, "idle:1": {"108 us": 400}}), IDLE)
    assert "50" in same.text and "110 us" in same.text
    few = finding(woken({"idle:3": {"110 us": 10_000}, "idle:1": {"108 us": 20}}), IDLE)
    assert few.confidence is Confidence.HIGH
    assert few.claims["runq.waking", "idle:3"] == 1_100_000_000, "too few to take anything off"
    polled = finding(woken({"idle:3": {"110 us": 10_000}, "idle:0": {"108 us": 400}}), IDLE)
    assert polled.claims["runq.waking", "idle:3"] == 1_100_000_000, "polling is no shallow sleep"


def test_how_the_cpus_of_the_target_slept_is_shown() -> None:
    builder = Builder().thread("io", cpu_user="1 s").row("runq.waking", "idle:3", durations={"150 us": 10_000})
    builder.cpu(1, "3 s", idle={3: (20_000, "4 s"), 1: (500, "1 s")}).cpu(2, "1 s", idle={3: (10_000, "8 s")})
    found = finding(knowing(builder.model(), idle_states=STATES), IDLE)
    assert "C6" in found.evidence[1].text and "30,000" in found.evidence[1].text and "60 %" in found.evidence[1].text


def test_a_wake_up_after_the_state_was_left_did_not_wait_for_it() -> None:
    """As where states are slept in with interrupts off: the CPU was up before it could wake the thread."""
    left = woken({"idle:3:left": {"15 us": 40_000}})
    said = outcomes(left, IDLE)
    assert isinstance(said[0], Check) and isinstance(said[1], Silence) and len(said) == 2
    assert "40,000" in said[1].reason and "5.32 s" in said[1].reason
    assert isinstance(check(woken({"idle:2:left": {"15 us": 40_000}}), IDLE), Check), "too shallow to be felt"
    assert dict(finding(woken({"idle:3:left": {"15 us": 9_000}, "idle:3": {"150 us": 9_000}}), IDLE).claims) == {
        ("runq.waking", "idle:3"): 1_350_000_000
    }


def test_a_cpu_that_was_not_asleep_yet_is_no_deep_state() -> None:
    check(woken({"idle:awake": {"400 us": 3_000}}), IDLE)
    check(woken({"idle:awake": {"400 us": 3_000}}, idle_states=[]), IDLE)


def test_a_table_of_the_firmware_that_is_not_met_is_said() -> None:
    found = finding(woken({"idle:3": {"20 us": 40_000}}), IDLE)
    assert found.confidence is Confidence.MEDIUM and "133 us" in found.limits[0] and "C6" in found.limits[0]


def test_a_state_that_somebody_disabled_is_not_enabled_by_the_undo() -> None:
    model = woken({"idle:3": {"150 us": 10_000}}, idle_states=[state(3, "C6", 133_000, disabled=2)])
    assert all(remedy.kind is RemedyKind.FIX for remedy in finding(model, IDLE).remedies)
    other = [state(2, "C1E", 10_000, disabled=8), state(3, "C6", 133_000)]
    first = finding(woken({"idle:3": {"150 us": 10_000}}, idle_states=other), IDLE).remedies[0]
    assert (first.text, first.undo) == ("cpupower idle-set -d 3", "cpupower idle-set -e 3")


def test_shallow_states_are_the_price_of_sleeping() -> None:
    assert check(woken({"idle:2": {"45 us": 20_000}}), IDLE).number > 0.4


def test_without_declared_states_only_long_wake_ups_count() -> None:
    found = finding(woken({"": {"400 us": 3_000}}, idle_states=[], hypervisor=Hypervisor("none", "test")), IDLE)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    check(woken({"": {"60 us": 20_000}}, idle_states=[]), IDLE)


def test_declared_states_that_were_not_read_in_time_are_not_missing() -> None:
    model = woken({"idle:3": {"150 us": 10_000}}, idle_states=[])
    assert finding(model, IDLE)
    model.facts.reasons["idle_states"] = ["/sys/devices/system/cpu/cpu0/cpuidle/state0/name: timeout"]
    assert silence(model, IDLE)


def test_in_a_guest_it_is_the_hypervisor_that_wakes() -> None:
    found = finding(woken({"": {"400 us": 3_000}}, idle_states=[], hypervisor=Hypervisor("kvm", "test")), IDLE)
    assert found.severity is Severity.INFO and "hypervisor" in found.claim


def test_what_haltpoll_declares_is_not_what_waking_takes() -> None:
    facts = {
        "idle_states": [state(0, "POLL", 0), state(1, "haltpoll idle", 1_000)],
        "idle_driver": "haltpoll",
        "hypervisor": Hypervisor("kvm", "test"),
    }
    assert finding(woken({"idle:1": {"400 us": 3_000}}, **facts), IDLE).severity is Severity.INFO
    check(woken({"idle:1": {"60 us": 20_000}}, **facts), IDLE)


def test_a_guest_that_may_use_real_idle_states_is_judged_by_them() -> None:
    facts = {"idle_driver": "intel_idle", "hypervisor": Hypervisor("kvm", "test")}
    assert finding(woken({"idle:3": {"150 us": 10_000}}, **facts), IDLE).severity is Severity.WARNING


def test_unmeasured_wake_ups_are_said() -> None:
    blind = Builder().thread("io", cpu_user="1 s").row("runq.waking", "", durations={"60 us": 20_000})
    assert silence(blind.without("idle_state").model(), IDLE)


# CPU-IRQ-HEAVY


def interrupted(irq: str, user: str = "4 s", **facts: Any) -> Model:
    return knowing(Builder().thread("net", cpu_user=user, cpu_irq=(irq, 9_000)).model(), **facts)


def test_interrupts_that_take_a_quarter_are_a_fault() -> None:
    card = blank(Interface, name="eth0", kind="physical", counters={"rx_packets": 9_000_000, "tx_packets": 1_000_000})
    found = finding(interrupted("2 s", softirqs={"NET_RX": 900, "TIMER": 100}, interfaces=[card]), IRQ)
    assert found.severity is Severity.WARNING and found.claims["cpu.irq"] == 2_000_000_000
    texts = " ".join(evidence.text for evidence in found.evidence)
    assert "NET_RX 90 %" in texts and "1,000,000" in texts


SOFTIRQ = ["handle_softirqs", "irq_exit_rcu"]


def test_what_interrupts_do_besides_moving_packets_is_named_with_its_remedy() -> None:
    """The rules for packets are nobody's own, also where the packets are."""
    for builder in (talking(), talking().row("net.receive", "peer:127.0.0.1:80", "1 ms", count=9)):
        builder.stack("cpu", "cpu.irq", kernel=["ipt_do_table", "nf_hook_slow", *SOFTIRQ], count=80)
        builder.stack("cpu", "cpu.irq", kernel=["tcp_v4_rcv", "net_rx_action", *SOFTIRQ], count=20)
        builder.stack("cpu", "cpu.kernel", kernel=["vfs_read", "ksys_read"], count=200)
        found = among_local_packets(builder, 9_000_000, 1_000)
        assert found.severity is Severity.WARNING
        assert "for packet filters" in found.headline and "iptables" in found.remedies[0].text
    moving = talking().stack("cpu", "cpu.irq", kernel=["tcp_v4_rcv", "net_rx_action", *SOFTIRQ], count=100)
    moving.stack("cpu", "cpu.kernel", kernel=["ipt_do_table", "nf_hook_slow"], count=200)  # its own, when it sends
    assert "packet filters" not in finding(knowing(moving.model()), IRQ).headline


def test_a_cpu_that_has_little_to_do_with_interrupts_is_not_loaded_with_them() -> None:
    few = finding(interrupted("200 ms", user="400 ms"), IRQ)  # a third of the CPU time, a fiftieth of a CPU
    assert few.severity is Severity.INFO


def talking() -> Builder:
    return Builder().thread("net", cpu_user="4 s", cpu_irq=("2 s", 9_000))


def among_local_packets(builder: Builder, local: int, card: int | None, receiving: int = 9_000_000) -> Finding:
    """Judge a target that interrupts take a third of, on a host whose interfaces received so many packets."""
    interfaces = [
        blank(Interface, name="lo", kind="loopback", counters={"rx_packets": local, "tx_packets": local}),
        blank(Interface, name="eth0", kind="physical", counters={} if card is None else {"rx_packets": card}),
    ]
    softirqs = {"NET_RX": receiving, "BLOCK": 1_000_000}
    return finding(knowing(builder.model(), softirqs=softirqs, interfaces=interfaces), IRQ)


def test_packets_of_local_connections_are_no_devices() -> None:
    def found(local: int, card: int | None, receiving: int = 9_000_000) -> Finding:
        builder = talking().row("net.receive", "peer:127.0.0.1:80", "1 ms", count=9)
        return among_local_packets(builder, local, card, receiving)

    own = found(9_000_000, 1_000)
    assert own.severity is Severity.INFO
    assert own.confidence is Confidence.MEDIUM and not any("irqbalance" in remedy.text for remedy in own.remedies)
    # A card that received a quarter; one that did not tell; softirqs that some other had; softirqs of disks.
    for other in (found(9_000_000, 3_000_000), found(9_000_000, None), found(1_000_000, 0), found(400_000, 0, 500_000)):
        assert "irqbalance" in other.remedies[0].text and "local" not in other.claim


def test_packets_of_another_network_namespace_are_no_devices_where_the_target_talks_locally() -> None:
    """A container: its loopback is not among the interfaces, and the host's hardly receive anything."""
    near = talking().row("net.receive", "peer:127.0.0.1:80", "1 ms", count=9)
    found = among_local_packets(near, 1_000, 2_000)
    assert found.severity is Severity.INFO
    far = talking().row("net.receive", "peer:10.0.0.5:80", "1 ms", count=9)
    far.socket("peer:10.0.0.5:80", local="10.0.0.2:40000")
    assert among_local_packets(far, 1_000, 2_000).severity is Severity.WARNING


def test_local_packets_are_the_targets_only_where_it_is_seen_to_talk() -> None:
    far = "peer:10.0.0.5:80"
    for silent in (talking(), talking().row("net.receive", far, "1 ms", count=9).socket(far, local="10.0.0.2:40000")):
        found = among_local_packets(silent, 9_000_000, 1_000)
        assert found.severity is Severity.WARNING
    for talks in (
        talking().row("net.receive", "peer:0.0.0.0:0", "1 ms", count=9),  # asked by anybody
        talking().socket("peer:127.0.0.1:80"),
        talking().row("net.send", "peer:10.0.0.2:80", "1 ms", count=9).socket("peer:10.0.0.2:80", local="10.0.0.2:4"),
        talking().stack("cpu", "cpu.kernel", kernel=["loopback_xmit", "tcp_sendmsg", "sock_write_iter"]),
    ):
        found = among_local_packets(talks, 9_000_000, 1_000)
        assert found.severity is Severity.INFO


def test_a_server_of_packets_gives_a_tenth() -> None:
    assert finding(interrupted("600 ms"), IRQ).severity is Severity.INFO
    assert check(interrupted("200 ms"), IRQ).number == pytest.approx(0.2 / 4.2)


def test_interrupts_that_were_not_measured_are_said_with_the_hosts() -> None:
    model = knowing(
        Builder().thread(cpu_user="4 s").without("irq").model(),
        cpu_times_ns={"user": 70, "irq": 10, "softirq": 20, "idle": 900},
    )
    assert "30 %" in silence(model, IRQ).reason


def test_lost_records_lower_the_confidence() -> None:
    model = Builder().thread("net", cpu_user="4 s", cpu_irq=("2 s", 9_000)).lost(storage_failed=900).model()
    assert finding(model, IRQ).confidence is Confidence.MEDIUM


def test_an_object_that_is_no_state_is_shown_harmless() -> None:
    found = finding(woken({"task:9:\x1b[31mx": {"400 us": 3_000}}, idle_states=[]), IDLE)  # judges the texts
    assert "\\x1b[31mx" in found.claim
