"""Counters of the kernel that grow only where the network of this host drops something."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.settings.network_counters import NETWORK_COUNTERS, NetworkCounter
from perfdiag.diagnosis.settings.unusual_settings import unusual_settings

from unit.support import Builder


def told(counter: NetworkCounter, grown: int, account: str = "net.receive") -> list[str]:
    """Return what is told of a target that waits for most of its time, where a counter has grown."""
    protocol, _, name = counter.name.partition(".")
    file = "netstat" if protocol == "TcpExt" else "snmp"
    builder = Builder(window="10 s").thread("app", cpu_user="1 ms")
    builder.row(account, "peer:10.0.0.1:53", durations={"10 ms": 800})
    begin, end = (f"{protocol}: {name} Other\n{protocol}: {value} 3\n" for value in (7, 7 + grown))
    builder.fact(f"/proc/100/net/{file}", begin, end)
    return [each.text for each in unusual_settings(builder.model())]


@pytest.mark.parametrize("each", NETWORK_COUNTERS, ids=lambda each: each.name)
def test_a_counter_that_has_grown_is_told_beside_waits_in_the_network(each: NetworkCounter) -> None:
    assert told(each, 46) == [f"46 {each.noun}s were {each.did}"]
    assert not told(each, 4) and not told(each, 46, "disk.read")


def dropped_at_backlogs(begin: str, end: str, account: str = "net.receive") -> list[str]:
    """Return what is told where the kernel's queues of the CPUs were these."""
    builder = Builder(window="10 s").thread("app", cpu_user="1 ms")
    builder.row(account, "peer:10.0.0.1:53", durations={"10 ms": 800})
    return [each.text for each in unusual_settings(builder.fact("/proc/net/softnet_stat", begin, end).model())]


def test_packets_that_a_full_queue_of_a_cpu_dropped_are_told() -> None:
    begin = "00000a3b 00000001 0000000a 00000000\n00000a9b 00000000 00000011 00000000\n"
    end = "000012a1 000000cb 0000000b 00000000\n000016de 00000134 00000014 00000000\n"
    says = "510 packets that came in were dropped at a full queue of a CPU (netdev_max_backlog)"
    assert dropped_at_backlogs(begin, end) == [says]
    assert not dropped_at_backlogs(end, end) and not dropped_at_backlogs(begin, end, "disk.read")


@pytest.mark.parametrize("text", ["", "\n", "x y z\n", "00000a3b\n", "1 -f\n", "1 " + "f" * 5000 + "\n"])
def test_damaged_queues_of_cpus_tell_nothing(text: str) -> None:
    assert not dropped_at_backlogs("", text)
