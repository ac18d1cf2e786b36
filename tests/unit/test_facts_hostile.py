"""Hostile, damaged and missing texts: reading them never raises, and what is not known is never zero."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from perfdiag.facts.host_facts import Facts
from perfdiag.recording import schema

from unit.support.facts import LIMITS, MOUNTINFO, SECOND, facts

PATHS = sorted(
    {
        "/proc/cpuinfo",
        "/proc/stat",
        "/proc/vmstat",
        "/proc/meminfo",
        "/proc/swaps",
        "/proc/diskstats",
        "/proc/loadavg",
        "/proc/softirqs",
        "/proc/interrupts",
        "/proc/pressure/cpu",
        "/proc/self/mountinfo",
        "/proc/self/mountstats",
        "/proc/77/mountinfo",
        "/proc/77/stat",
        "/proc/77/status",
        "/proc/77/limits",
        "/proc/77/io",
        "/proc/77/schedstat",
        "/proc/77/cgroup",
        "/proc/77/fd",
        "/proc/77/net/snmp",
        "/proc/77/net/netstat",
        "/proc/net/softnet_stat",
        "/proc/sys/fs/file-nr",
        "/proc/sys/fs/dentry-state",
        "/proc/sys/vm/dirty_ratio",
        "/dev/kmsg",
        "/dev/cpu/0/msr",
        "/sys/block/sda",
        "/sys/block/s(d[b",
        "/sys/block/sda/dev",
        "/sys/block/sda/size",
        "/sys/block/sda/slaves/sdb",
        "/sys/class/net/e(th[0/mtu",
        "/sys/class/net/eth0/mtu",
        "/sys/class/net/eth0/statistics/rx_bytes",
        "/sys/fs/cgroup/a",
        "/sys/fs/cgroup/a/cpu.max",
        "/sys/fs/cgroup/a/cpu.stat",
        "/sys/fs/cgroup/a/memory.max",
        "/sys/fs/cgroup/a/io.max",
        "/sys/fs/cgroup/a/io.stat",
        "/sys/fs/cgroup/a/memory.pressure",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "/sys/devices/system/cpu/cpu0/cpuidle/state0/name",
        "/sys/devices/system/cpu/cpu0/cpuidle/state0/time",
        "/sock_diag/nfs",
        "/sock_diag/listen/7",
        "/traffic_control/7",
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver",
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
        "/sys/devices/system/node/node0/numastat",
        "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
        "/sys/kernel/mm/ksm/run",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/class/dmi/id/sys_vendor",
    }
)


WORDS = st.one_of(
    st.text(max_size=20),
    st.integers().map(str),
    st.floats().map(str),
    st.just("9" * 5000),
    st.just("\u0663"),
    st.sampled_from(
        [
            ":",
            "cpu",
            "cpu0",
            "flags",
            "hypervisor",
            "aperfmperf",
            "max",
            "Tcp:",
            "some",
            "full",
            "total=1",
            "avg10=1.x",
            "-",
            "cgroup2",
            "cgroup",
            "0::/a",
            "3:cpu:/a/b",
            "8:0",
            "rbps=max",
            "77",
            "(",
            ")",
            "[x]",
            "sda",
            "\\0409",
            "=",
            "Max open files   1  2",
            "3,9,9,-;I/O error, dev sda",
            "mperf 5",
            "aperf 7",
            "numa_hit",
            "kB",
            "/",
            "\0",
            "unlimited",
            "device a mounted on b with fstype nfs statvers=1.1",
            "\txprt:\ttcp",
            "\t  WRITE: 1 2 3 4 5 6 7 8",
        ]
    ),
)


TEXTS = st.lists(st.tuples(WORDS, st.sampled_from([" ", "\n", "\t", "", ": ", "  ", ","])), max_size=40).map(
    lambda parts: "".join(word + separator for word, separator in parts)
)


LINES = st.builds(
    lambda path, phase, text, at_ns: schema.Fact(at_ns=at_ns, phase=phase, path=path, text=text),
    st.sampled_from(PATHS),
    st.sampled_from(["begin", "series", "end"]),
    TEXTS,
    st.integers(0, 100 * SECOND),
)


def ask_everything(found: Facts) -> None:
    for name in dir(Facts):
        if not name.startswith("__") and not callable(getattr(found, name)):
            getattr(found, name)
            assert isinstance(found.reason(name), str)
    for device in [*found.disks, "8:0", ""]:
        found.mount_of(device)
        found.nfs_mount_of(device)
        found.disk_name(device)
    found.cgroup_of(1)
    found.vmstat_delta("pgfault")
    found.meminfo("MemTotal")
    found.network_delta("Tcp.InSegs")


@given(st.lists(LINES, max_size=30))
def test_hostile_texts_never_raise(hostile: list[schema.Fact]) -> None:
    ask_everything(Facts.parse(hostile))


SOUND = {
    "/proc/self/mountinfo": MOUNTINFO,
    "/proc/77/limits": LIMITS,
    "/proc/77/fd": "880 inode 6106",
    "/proc/stat": "cpu  10825 0 5642 536347 2019 0 215 31 0 0\ncpu0 1797 0 1753 273471 428 0 0 0 0 0\n",
    "/proc/diskstats": "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n",
    "/proc/pressure/cpu": "some avg10=0.08 avg60=0.41 avg300=0.48 total=12139886\n",
    "/sys/fs/cgroup/a/cpu.max": "20000 100000\n",
    "/proc/77/cgroup": "0::/a\n3:cpu,cpuacct:/a\n",
    "/dev/kmsg": "3,901,9000001,-;blk_update_request: I/O error, dev sdb, sector 2048\n",
}


@given(st.sampled_from(sorted(SOUND)), st.integers(0, 400), st.text(max_size=3))
def test_texts_cut_short_or_changed_never_raise(path: str, position: int, inserted: str) -> None:
    text = SOUND[path]
    for damaged in (text[:position], text[:position] + inserted + text[position:]):
        ask_everything(facts(SOUND, SOUND | {path: damaged}))


def test_nothing_recorded_is_unknown_and_never_zero() -> None:
    """Every property of an empty recording is None or empty, and says why."""
    nothing = facts()
    for name in dir(Facts):
        value = getattr(nothing, name)
        if name.startswith("_") or callable(value) or name in ("texts", "reasons"):
            continue
        assert value is None or len(value) == 0, (name, value)
        if name not in ("steal_share", "cgroup_directories"):
            assert "not recorded" in nothing.reason(name) or "no aperfmperf" in nothing.reason(name), name
