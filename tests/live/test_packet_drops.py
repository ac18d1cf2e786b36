"""Packets that this host's own kernel drops are counted by peer and reason."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from perfdiag.recording import schema

from live.support.calling import fault
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

pytestmark = [
    pytest.mark.may_skip("iptables"),
    pytest.mark.skipif(not shutil.which("iptables"), reason="no iptables: see packages-truth.txt"),
]

CONNECTS = 4
# Connects so often once a line comes in; the kernel of this network drops the first SYN of each.
CLIENT = """
import socket, sys
listener = socket.create_server(("{address}", 7001), family=socket.{family}, backlog=64)
print("ready", flush=True)
sys.stdin.readline()
for _ in range({connects}):
    socket.create_connection(("{address}", 7001)).close()
print("done", flush=True)
sys.stdin.readline()
"""
NETWORK = """
ip link set lo up
{command} -A INPUT -p tcp --dport 7001 --syn -m statistic --mode nth --every 2 --packet 0 -j DROP
exec python3 -c "$1"
"""


@pytest.mark.parametrize(
    ("command", "address", "family"), [("iptables", "127.0.0.1", "AF_INET"), ("ip6tables", "::1", "AF_INET6")]
)
def test_a_firewall_that_drops_is_named(
    command: str, address: str, family: str, attach: Attach, cleanup: Cleanup
) -> None:
    client = CLIENT.format(address=address, family=family, connects=CONNECTS)
    inside = ["unshare", "--net", "sh", "-ec", NETWORK.format(command=command), "sh", client]
    target = cleanup.enter_context(
        subprocess.Popen(inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    )
    cleanup.callback(target.kill)
    assert target.stdin and target.stdout and target.stdout.readline() == "ready\n"
    recorder = attach(target.pid)
    target.stdin.write("go\n")
    assert target.stdout.readline() == "done\n"
    recording = recorder.stop()
    drops = {(line.object, line.kind): line.count for line in recording.of(schema.PacketDrop)}
    peer = f"peer:{f'[{address}]' if ':' in address else address}:7001"
    assert drops == {(peer, "firewall"): CONNECTS}, drops
    found = fault(model_of(recording), "NET-CONNECT-SLOW")
    assert found is not None and "a firewall rule of this host" in found.headline, found
