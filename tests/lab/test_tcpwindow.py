"""tcpwindow.bt: a slow network, and a peer that reads at once: held by congestion, or by a window that is small."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from live.support.fixtures import Cleanup, Start, Trace
from live.tools.test_tcpwindow import HELD, HERE, total_ns

# One segment to a packet: else a packet that is lost takes up to 44 segments along, and how many decides on the run.
SLOW_NETWORK = """
modprobe sch_netem
ip link set lo mtu 1500 gso_max_segs 1
tc qdisc add dev lo root netem delay 10ms loss {loss}% limit 100000
"""
FAST_NETWORK = "tc qdisc del dev lo root; ip link set lo mtu 65536 gso_max_segs 65535"


@pytest.mark.parametrize(
    ("loss", "window", "sent", "holder"),
    [
        (3, 4 << 20, 2_000_000, "@congestion_ns"),
        (0, 8192, 500_000, "@receiver_ns"),  # 5,792 bytes per 20 ms; "ss -ti" said: rwnd_limited 99.6 %
    ],
)
def test_a_slow_network(
    loss: int, window: int, sent: int, holder: str, guest: Guest, cleanup: Cleanup, start: Start, trace: Trace
) -> None:
    cleanup.callback(guest.tidy, FAST_NETWORK)
    guest.run(SLOW_NETWORK.format(loss=loss))
    sender = start("send", "--bytes", sent, "--bytes-per-ms", 1_000_000, "--window", window)
    script = trace("tcpwindow", sender)
    truth = sender.run()
    seen = script.stop()
    waits = {name: total_ns(seen, name, HERE, str(truth["port"])) for name in HELD}
    assert waits[holder] >= 0.8 * truth["send_ns"] > 800_000_000, (waits, truth)
    assert sum(waits.values()) <= truth["send_ns"]
    assert seen.unseen == 0
