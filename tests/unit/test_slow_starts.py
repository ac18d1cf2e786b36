"""Large questions over a long way, from a small congestion window: the peer is not slow."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Mechanism

from unit.support import Builder
from unit.support.judging import finding

PEER = "peer:10.0.0.9:9000"


def uploading(
    each_bytes: int, wait: str, *, window: int = 10, rtt_us: int = 120_000, connects: dict[str, int] | None = None
) -> Builder:
    """Ten questions of a size, for each answer of which a thread waits so long."""
    builder = Builder(window="20 s").thread("sync", cpu_user="200 ms").row("net.receive", PEER, durations={wait: 10})
    builder.socket(PEER, rtt_us=rtt_us, minimum_rtt_us=rtt_us, congestion_window=window, in_flight=window)
    builder.exchange(PEER, "connected", {wait: 10}, bytes_out=10 * each_bytes, connect=connects)
    return builder.fact("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "1\n")


def test_a_megabyte_takes_seven_round_trips() -> None:
    found = finding(uploading(1_000_000, "860 ms").model(), "NET-CONGESTION")
    assert found.headline == "977 KiB to 10.0.0.9:9000 take 7 round trips: the congestion window is small"
    assert found.mechanism is Mechanism.LIMIT and "tcp_slow_start_after_idle=0" in found.remedies[0].text
    anew = finding(uploading(1_000_000, "860 ms", connects={"120 ms": 10}).model(), "NET-CONGESTION")
    assert "keep connections open" in anew.remedies[0].text


@pytest.mark.parametrize(
    ("each_bytes", "wait", "more"),
    [
        (1_000_000, "1900 ms", {}),  # the peer works for a second
        (1_000_000, "300 ms", {}),  # the window was large
        (1_000_000, "860 ms", {"window": 900}),
        (20_000, "250 ms", {}),
        (1_000_000, "860 ms", {"rtt_us": 300}),
    ],
)
def test_what_the_window_does_not_explain_is_the_peers(each_bytes: int, wait: str, more: dict[str, int]) -> None:
    found = finding(uploading(each_bytes, wait, **more).model(), "NET-PEER-SLOW")
    assert "congestion window" not in found.headline
