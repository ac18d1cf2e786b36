"""Control groups: which directories are a target's, and what their files of both versions mean."""

from __future__ import annotations

import math

import pytest
from perfdiag.facts.host_facts import Facts

from unit.support import Builder
from unit.support.facts import facts

UNIFIED = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
LEGACY = (
    "33 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:16 - cgroup cgroup rw,cpu,cpuacct\n"
    "34 24 0:29 / /sys/fs/cgroup/memory rw,relatime shared:17 - cgroup cgroup rw,memory\n"
    "35 24 0:30 / /sys/fs/cgroup/blkio rw,relatime shared:18 - cgroup cgroup rw,blkio\n"
    "36 24 0:31 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
)
SLICE = "/sys/fs/cgroup/system.slice"


def version_2(mountinfo: str = UNIFIED) -> Facts:
    service = f"{SLICE}/app.service"
    cpu_stat = "usage_usec {}\nuser_usec 0\nsystem_usec 0\nnr_periods {}\nnr_throttled {}\nthrottled_usec {}\n"
    return facts(
        {
            "/proc/self/mountinfo": mountinfo,
            "/proc/77/cgroup": "0::/system.slice/app.service\n",
            "/proc/78/cgroup": "0::/system.slice/app.service\n",
            service: "41 inode 5123",
            SLICE: "60 inode 77",
            f"{service}/cpu.stat": cpu_stat.format(0, 100, 0, 0),
            f"{service}/memory.events": "low 0\nhigh 3\nmax 10\noom 0\noom_kill 0\n",
            f"{service}/pids.events": "max 4\n",
            f"{service}/io.stat": "8:0 rbytes=100 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n",
        },
        {
            f"{service}/cpu.max": "20000 100000\n",
            f"{service}/cpu.weight": "100\n",
            f"{service}/cpu.stat": cpu_stat.format(5_000_000, 200, 23, 7_000_000),
            f"{SLICE}/cpu.max": "max 100000\n",
            f"{SLICE}/cpu.stat": cpu_stat.format(1, 0, 0, 0),
            f"{service}/cpuset.cpus.effective": "1\n",
            f"{service}/memory.max": "536870912\n",
            f"{service}/memory.high": "max\n",
            f"{service}/memory.current": "536866816\n",
            f"{service}/memory.swap.max": "0\n",
            f"{service}/memory.events": "low 0\nhigh 3\nmax 33\noom 0\noom_kill 1\n",
            f"{service}/memory.stat": "anon 500000000\nfile 36000000\nshmem 0\n",
            f"{service}/io.max": "8:0 rbps=1048576 wbps=max riops=max wiops=120\n",
            f"{service}/io.stat": "8:0 rbytes=2300 wbytes=0 rios=24 wios=0 dbytes=0 dios=0\n253:0\n",
            f"{service}/pids.max": "max\n",
            f"{service}/pids.current": "23\n",
            f"{service}/pids.events": "max 11\n",
        },
    )


@pytest.mark.parametrize(("levels", "told"), [(63, False), (64, True)])
def test_a_nest_of_which_not_all_is_read_is_said(levels: int, told: bool) -> None:
    builder = Builder().thread("a", cpu_user="1 s").fact("/proc/self/mountinfo", UNIFIED)
    builder.fact("/proc/100/cgroup", f"0::{'/d' * levels}\n")
    said = [each.what for each in builder.model().not_measured]
    assert (f"limits of control groups in the middle of {levels} levels" in said) is told, said


def test_version_2() -> None:
    found = version_2()
    service, parent = found.cpu_groups
    assert (service.path, service.version, service.depth, service.pids) == (f"{SLICE}/app.service", 2, 2, (77, 78))
    assert service.quota_cpus == pytest.approx(0.2) and service.period_ns == 100_000_000 and service.weight == 100
    assert (service.periods, service.throttled_periods, service.throttled_ns) == (100, 23, 7_000_000_000)
    assert service.usage_ns == 5_000_000_000 and service.inode == 5123
    assert parent.path == SLICE and parent.quota_cpus == math.inf and parent.throttled_ns is None
    assert found.cgroup_of(5123) == service and found.cgroup_of(1) is None

    (memory,) = found.memory_groups
    assert (memory.limit_bytes, memory.high_bytes, memory.swap_limit_bytes) == (536870912, math.inf, 0)
    assert memory.usage_bytes == 536866816 and memory.stat["anon"] == 500_000_000
    assert memory.events == {"low": 0, "high": 0, "max": 23, "oom": 0, "oom_kill": 1}

    (io,) = found.io_groups
    assert io.limits == {"8:0": {"rbps": 1048576, "wiops": 120}}
    assert io.counters["8:0"]["rbytes"] == 2200 and io.counters["8:0"]["rios"] == 23 and io.counters["253:0"] == {}
    (cpuset,) = found.cpuset_groups
    assert (cpuset.path, cpuset.cpus) == (f"{SLICE}/app.service", "1")
    (pids,) = found.pids_groups
    assert pids.limit == math.inf and pids.current == 23 and pids.refused == 7


@pytest.mark.parametrize(("own", "ancestor"), [(0, 0), (1, 0), (0, 1)])
def test_frozen_by_itself_or_with_an_ancestor(own: int, ancestor: int) -> None:
    mounts = {"/proc/self/mountinfo": UNIFIED, "/proc/77/cgroup": "0::/system.slice/app.service\n"}
    service = f"{SLICE}/app.service/cgroup.events"
    end = {service: f"populated 1\nfrozen {own}\n", f"{SLICE}/cgroup.events": f"populated 1\nfrozen {ancestor}\n"}
    assert facts(mounts, end).frozen == {77: own or ancestor}
    assert facts({**mounts, service: "populated 1\nfrozen 1\n"}).frozen == {}, "at the end it is not known"


@pytest.mark.parametrize(("state", "frozen"), [("THAWED", False), ("FREEZING", False), ("FROZEN", True)])
def test_frozen_in_version_1(state: str, frozen: bool) -> None:
    mounts = "33 24 0:28 / /sys/fs/cgroup/freezer rw,relatime shared:16 - cgroup cgroup rw,freezer\n"
    begin = {"/proc/self/mountinfo": mounts, "/proc/77/cgroup": "7:freezer:/docker/4f2a\n"}
    assert facts(begin, {"/sys/fs/cgroup/freezer/docker/4f2a/freezer.state": f"{state}\n"}).frozen == {77: frozen}


def test_version_1_with_joined_controllers() -> None:
    group = "/docker/4f2a"
    cpu, memory, blkio = (f"/sys/fs/cgroup/{name}{group}" for name in ("cpu,cpuacct", "memory", "blkio"))
    stat = "nr_periods {}\nnr_throttled {}\nthrottled_time {}\n"
    found = facts(
        {
            "/proc/self/mountinfo": LEGACY,
            "/proc/77/cgroup": f"4:memory:{group}\n3:cpu,cpuacct:{group}\n2:blkio:{group}\n1:name=systemd:/x\n0::/\n",
            f"{cpu}/cpu.stat": stat.format(0, 0, 0),
            f"{cpu}/cpuacct.usage": "1000\n",
            cpu: "30 inode 45",
            f"{memory}/memory.failcnt": "0\n",
            f"{memory}/memory.oom_control": "oom_kill_disable 0\noom_kill 0\n",
        },
        {
            f"{cpu}/cpu.cfs_quota_us": "150000\n",
            f"{cpu}/cpu.cfs_period_us": "100000\n",
            f"{cpu}/cpu.shares": "1024\n",
            f"{cpu}/cpu.stat": stat.format(100, 23, 230_000_000),
            f"{cpu}/cpuacct.usage": "24000\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            f"{memory}/memory.limit_in_bytes": "268435456\n",
            f"{memory}/memory.memsw.limit_in_bytes": "268435456\n",
            f"{memory}/memory.failcnt": "4711\n",
            f"{memory}/memory.oom_control": "oom_kill_disable 0\noom_kill 1\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            f"{blkio}/blkio.throttle.write_iops_device": "8:0 120\n",
            f"{blkio}/blkio.throttle.read_bps_device": "",
        },
    )
    own, _, root = found.cpu_groups
    assert own.path == cpu and own.version == 1 and own.quota_cpus == pytest.approx(1.5) and own.weight == 1024
    assert (own.throttled_periods, own.throttled_ns, own.usage_ns) == (23, 230_000_000, 23_000)
    assert root.depth == 0 and root.quota_cpus == math.inf
    limited = found.memory_groups[0]
    assert limited.limit_bytes == 256 << 20 and limited.swap_limit_bytes == 0 and limited.high_bytes is None
    assert limited.events == {"oom_kill": 1, "max": 4711}
    assert found.memory_groups[-1].limit_bytes == math.inf
    assert found.io_groups[0].limits == {"8:0": {"wiops": 120}}
    assert found.cgroup_of(45) == own


def test_a_quota_without_a_period_is_unknown() -> None:
    group = {"/proc/77/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "20000\n"}
    found = facts({"/proc/self/mountinfo": UNIFIED, **group})
    assert found.cpu_groups[0].quota_cpus is None and found.cpu_groups[0].period_ns is None


def test_the_part_of_a_hierarchy_that_a_container_sees() -> None:
    """The mount shows /docker/4f2a as its top: what is above it cannot be seen."""
    mountinfo = "900 899 0:26 /docker/4f2a /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
    found = facts(
        {
            "/proc/self/mountinfo": mountinfo,
            "/proc/77/cgroup": "0::/docker/4f2a/inner\n",
            "/proc/78/cgroup": "0::/docker/9\n",
            "/sys/fs/cgroup/cpu.max": "50000 100000\n",
            "/sys/fs/cgroup/inner/cpu.max": "max 100000\n",
        }
    )
    assert [(group.path, group.depth, group.quota_cpus) for group in found.cpu_groups] == [
        ("/sys/fs/cgroup/inner", 1, math.inf),
        ("/sys/fs/cgroup", 0, 0.5),
    ]
    assert [group.pids for group in found.cpu_groups] == [(77,), (77,)]


def test_a_second_mount_of_the_hierarchy_changes_nothing() -> None:
    """A chroot that somebody prepared mounts it again, later and elsewhere."""
    again = UNIFIED + "99 23 0:26 / /srv/chroot/sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    assert [group.path for group in version_2(again).cpu_groups] == [group.path for group in version_2().cpu_groups]
