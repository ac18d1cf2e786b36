"""What /proc/self/mountstats of Linux 6.1 says of NFS mounts: calls begin to end, options, connections."""

from __future__ import annotations

import pytest
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.nfs_connections import NfsConnections

from unit.support.facts import facts

PATH = "/proc/self/mountstats"
MOUNTINFO = (
    "28 1 0:25 / /tmp rw - tmpfs tmpfs rw\n"
    "40 25 0:32 / /mnt3 rw,relatime - nfs 127.0.0.1:/exp rw,sync,vers=3,hard,noac,nconnect=2,addr=127.0.0.1\n"
    "42 28 0:33 / /tmp/a\\040b rw,relatime - nfs4 127.0.0.1:/ rw,vers=4.2,hard,addr=127.0.0.1\n"
)
LOCAL = "device tmpfs mounted on /tmp with fstype tmpfs\n"
V3 = """\
device 127.0.0.1:/exp mounted on /mnt3 with fstype nfs statvers=1.1
|opts:|rw,sync,vers=3,rsize=262144,wsize=262144,acregmin=0,acregmax=0,hard,noac,proto=tcp,nconnect=2,timeo=600
|age:|1
|caps:|caps=0xf,wtmult=4096,dtsize=262144,bsize=0,namlen=255
|events:|65 12 0 1 4 2 53 96 0 8 0 6 2 0 5 8 0 3 0 0 96 0 0 0 0 0 0
|bytes:|2097152 393216 0 0 2097152 393216 512 96
|RPC iostats version: 1.1  p/v: 100003/3 (nfs)
|xprt:|tcp 965 1 2 0 0 {sends} 51 0 51 {backlog} 2 0 0
|xprt:|tcp 725 1 2 0 0 {sends} 50 0 50 0 4 0 0
|per-op statistics
|        NULL: 1 1 0 44 24 6 0 7 0
|     GETATTR: {getattr}
|       WRITE: {write}
|      COMMIT: 0 0 0 0 0 0 0 0 0

""".replace("|", "\t")
V4 = """\
device 127.0.0.1:/ mounted on /tmp/a\\040b with fstype nfs4 statvers=1.1
|opts:|rw,vers=4.2,rsize=262144,wsize=262144,hard,proto=tcp,timeo=600,retrans=2,sec=sys,local_lock=none
|xprt:|tcp 0 0 2 0 0 51 51 0 128 0 8 85 55
|per-op statistics
|        NULL: 1 1 0 44 24 1 0 2 0
|OPEN_DOWNGRADE: 1 1 0 10 10 0 2 2
|      COMMIT: {commit}

""".replace("|", "\t")
BEGIN = V3.format(sends=10, backlog=0, getattr="2 2 0 160 224 0 1 2 0", write="1 1 0 65536 136 0 6 6 0") + V4.format(
    commit="0 0 0 0 0 0 0 0 0"
)
END = V3.format(
    sends=60, backlog=30, getattr="67 67 0 5544 7504 2 40 54 0", write="6 8 1 393864 816 1 36 38 2"
) + V4.format(commit="3 3 0 468 312 0 60 61 0")


def known(begin: str = LOCAL + BEGIN, end: str = LOCAL + END) -> Facts:
    return facts({PATH: begin, "/proc/self/mountinfo": MOUNTINFO}, {PATH: end})


def test_calls_of_the_window() -> None:
    third = known().nfs_mount_of("0:32")
    assert third and (third.source, third.mountpoint, third.fstype) == ("127.0.0.1:/exp", "/mnt3", "nfs")
    assert set(third.calls) == {"GETATTR", "WRITE"}  # NULL was called before
    getattr = third.calls["GETATTR"]
    assert (getattr.count, getattr.sent_bytes, getattr.received_bytes) == (65, 5384, 7280)
    assert (getattr.queue_ns, getattr.answer_ns, getattr.whole_ns) == (2_000_000, 39_000_000, 52_000_000)
    write = third.calls["WRITE"]
    assert (write.count, write.transmissions, write.timeouts, write.errors) == (5, 7, 1, 2)
    assert third.retransmissions == 2 and third.timeouts == 1
    assert third.since_mount["GETATTR"].count == 67


def test_options_and_connections() -> None:
    third, fourth = known().nfs_mounts
    assert third.option("sync") == "" and third.option("noac") == "" and third.option("soft") is None
    assert third.option("vers") == "3" and third.option("acregmax") == "0"
    assert third.transport.connections == 2 and third.transport.connects == 0
    assert third.transport.sends == 100 and third.transport.backlog == 30 and third.transport.most_slots == 4
    assert fourth.transport.sends == 0 and fourth.transport.sending == 0 and fourth.transport.most_slots == 8


def test_a_blank_in_the_name_of_a_mount_and_an_older_kernel_without_errors() -> None:
    fourth = known(LOCAL + BEGIN.replace("OPEN_DOWNGRADE: 1", "OPEN_DOWNGRADE: 0")).nfs_mount_of("0:33")
    assert fourth and fourth.mountpoint == "/tmp/a b" and fourth.calls["COMMIT"].answer_ns == 60_000_000
    assert fourth.calls["OPEN_DOWNGRADE"].errors is None and fourth.calls["COMMIT"].errors == 0


def test_a_mount_that_came_in_the_window_counts_from_its_first_call() -> None:
    third = known(LOCAL).nfs_mounts[0]
    assert third.calls["GETATTR"].count == 67 and third.transport.sends == 120


def test_a_mount_that_was_mounted_anew_counts_from_its_first_call() -> None:
    assert known(LOCAL + END, LOCAL + BEGIN).nfs_mounts[0].calls["GETATTR"].count == 2


def test_a_text_cut_short_loses_its_last_line_only() -> None:
    cut = END[: END.index("      COMMIT: 0 0") + len("      COMMIT: 0 0")]
    assert set(known(end=cut).nfs_mounts[0].calls) == {"GETATTR", "WRITE"}
    assert len(known(end=cut).nfs_mounts) == 1


def test_nothing_recorded_is_said() -> None:
    nothing = facts({}, {})
    assert list(nothing.nfs_mounts) == [] and "mountstats" in nothing.reason("nfs_mounts")
    assert nothing.nfs_mount_of("0:32") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "device",
        "device x mounted on y with fstype nfs statvers=\n",
        "device x mounted on y with fstype nfs statvers=1.1\n\txprt:\ttcp\n\tWRITE: 1 2\n\topts:\t\n",
        "device x mounted on y with fstype nfs statvers=1.1\n"
        "\txprt:\ttcp a b c d e f g h i j k l\n\tW: 9 9 9 9 9 9 9 9 9 9\n",
        "device x mounted on y with fstype nfs statvers=1.1\n\t   W: " + "9" * 40 + " 1 1 1 1 1 1 1\n",
    ],
)
def test_damaged_texts_count_nothing(text: str) -> None:
    assert [mount.calls for mount in known(text, text).nfs_mounts] in ([], [{}])


def test_what_held_the_connections_to_a_server() -> None:
    """By address: a connection of before, one that is new, one that was made anew from the same port."""
    path = "/sock_diag/nfs"
    begin = "701 127.0.0.1 100 40 8 5000 1000\n702 127.0.0.1 900 900 900 5000 9000\n"
    end = (
        "701 127.0.0.1 300 140 8 6000 3000\n702 127.0.0.1 50 20 0 4000 100\n703 127.0.0.1 7 0 0 7000 10\n"
        "x y\n800 fd00::1 1 1 1 1 1 1\n801 fd00::1 5 4 3 2 1\n"
    )
    found = facts({path: begin, "/proc/self/mountinfo": MOUNTINFO}, {path: end}).nfs_connections_of("0:33")
    assert found == NfsConnections(
        count=3, busy_ns=257_000, receiver_ns=120_000, window_bytes=4000, acknowledged_bytes=2110
    )
    both = facts({path: begin}, {path: end}).nfs_connections
    assert set(both) == {"127.0.0.1", "fd00::1"} and both["fd00::1"].receiver_ns == 4_000
    assert not facts({}, {path: end}).nfs_connections  # then nothing is known of the window
