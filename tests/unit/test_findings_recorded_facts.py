"""Rules on facts as they stand in a recording: the texts of /proc and /sys, parsed on the way."""

from __future__ import annotations

from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity

from unit.support import Builder
from unit.support.judging import finding

GROUP = "/sys/fs/cgroup/system.slice/app.service"
MOUNTINFO = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n25 1 8:16 / /backup rw,relatime - ext4 /dev/sdb rw\n"
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max open files            1024                 524288               files
"""


def events(**counts: int) -> str:
    return "".join(f"{name} {counts.get(name, 0)}\n" for name in ("low", "high", "max", "oom", "oom_kill"))


def test_the_memory_limit_of_a_version_2_group() -> None:
    model = (
        Builder()
        .thread(cpu_user="1 s", memory_cgroup=("3 s", 900), memory_swap_in=("1 s", 90))
        .fact("/proc/100/cgroup", "0::/system.slice/app.service\n")
        .fact("/proc/100/mountinfo", MOUNTINFO)
        .fact("/proc/self/mountinfo", MOUNTINFO)
        .fact("/proc/100/status", "Name:\tapp\n")
        .fact(f"{GROUP}/memory.max", "536870912\n")
        .fact(f"{GROUP}/memory.current", "536000000\n")
        .fact(f"{GROUP}/memory.events", events(max=100), events(max=900))
        .fact("/proc/vmstat", "allocstall_normal 7\npgscan_kswapd 9\n")
        .model()
    )
    found = finding(model, "MEM-CGROUP-LIMIT")
    assert f"512 MiB of {GROUP}" in found.claim
    assert any("at the limit 800 times" in each.text for each in found.evidence)
    assert sum(found.claims.values()) == 4_000_000_000  # the host itself reclaimed nothing
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH


def test_swap_traffic_of_the_host() -> None:
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .row("memory.swap_in", "", durations={"4 ms": 500})
        .fact("/proc/meminfo", "MemTotal: 8000000 kB\nSwapTotal: 2000000 kB\nSwapFree: 500000 kB\n")
        .fact("/proc/swaps", "Filename Type Size Used Priority\n/dev/vdb partition 2000000 1500000 -2\n")
        .fact("/proc/vmstat", "pswpin 100\npswpout 100\n", "pswpin 700\npswpout 5100\n")
        .fact("/proc/sys/vm/swappiness", "60\n")
        .fact("/proc/100/status", "Name:\tapp\nVmSwap:\t  4096 kB\n")
        .model()
    )
    found = finding(model, "MEM-SWAP-IN")
    assert "600 pages swapped in, 5,000 out" in found.evidence[1].text
    assert found.evidence[2].value == 4 << 20
    trials = [remedy for remedy in found.remedies if remedy.kind is RemedyKind.TRY]
    assert [trial.present_value for trial in trials] == ["vm.swappiness = 60"]


def test_descriptors_that_grow_towards_their_limit() -> None:
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .fact("/proc/100/limits", LIMITS)
        .fact("/proc/100/status", "Name:\tleaky\n")
        .series("/proc/100/fd", "880", "900", "940", "980")
        .model()
    )
    found = finding(model, "FD-EXHAUSTION")
    assert found.severity is Severity.WARNING and "leaky (100) has 980 of 1,024" in found.claim
    assert found.remedies[0].text == "prlimit --pid 100 --nofile=2048:524288"


def test_a_victim_of_a_backup_on_the_same_device() -> None:
    stat = "8 16 sdb 0 0 0 0 {} 0 {} 0 0 0 0 0 0 0 0 0 0\n"
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .row("memory.dirty_throttle", "device:8:16", durations={"100 ms": 30})
        .fact("/proc/self/mountinfo", MOUNTINFO)
        .fact("/sys/block", "sdb\n")
        .fact("/sys/block/sdb/dev", "8:16\n")
        .fact("/proc/diskstats", stat.format(10, 2000), stat.format(900, 1_026_000))
        .fact("/proc/100/status", "Name:\tapp\n")
        .fact("/proc/100/io", "write_bytes: 100\n", "write_bytes: 4096100\n")
        .model()
    )
    found = finding(model, "MEM-DIRTY-THROTTLE")
    assert "/backup" in found.claim and found.confidence is Confidence.HIGH


def test_writers_to_an_nfs_mount_are_told_what_held_its_connection() -> None:
    held = "701 192.0.2.7 0 0 0 9000 0\n", "701 192.0.2.7 8000000 6000000 0 65536 40000000\n"
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .row("memory.dirty_throttle", "device:0:51", durations={"100 ms": 30})
        .fact("/proc/self/mountinfo", "40 25 0:51 / /backup rw - nfs4 nas:/b rw,vers=4.2,addr=192.0.2.7\n")
        .fact("/sock_diag/nfs", *held)
    )
    texts = [each.text for each in finding(model.model(), "MEM-DIRTY-THROTTLE").evidence]
    assert any("75 %" in text and "64.0 KiB" in text for text in texts), texts
    nobody = model.fact("/sock_diag/nfs", *held[::-1]).model()  # a connection that sent nothing
    assert not any("window" in each.text for each in finding(nobody, "MEM-DIRTY-THROTTLE").evidence)


def test_an_evicted_mapping_on_an_old_kernel() -> None:
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .row("memory.major_fault", "file:8:16:5", durations={"1 ms": 3000})
        .fact("/proc/vmstat", "workingset_refault 0\n", "workingset_refault 90000\n")
        .model()
    )
    assert "on a host that reads evicted pages again" in finding(model, "MEM-MAJOR-FAULTS").claim
