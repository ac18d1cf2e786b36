"""Scripts of dtrace/ that ask the kernel: memory, clocks, idle states, quotas, TCP; see also test_dtrace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.support import host
from lab.support.guest import Guest
from lab.support.processes import GuestWorkload
from lab.support.servers import Java
from lab.test_idle import COUNT as WAKEUPS
from lab.test_idle import only, usage
from lab.test_memory import DEVICE, MEBIBYTE, slow  # noqa: F401 - a fixture
from lab.test_oom import LIMIT_MIB, limited
from lab.test_values_clock import FAST, SLOW, clocks, set_to  # noqa: F401 - a fixture
from live.support.fixtures import Cleanup, Start
from live.support.workload import ROOT
from live.tools.test_pgcache import COUNT as READS
from live.tools.test_pgcache import MEBIBYTES, READ_US

pytestmark = pytest.mark.dtrace

KILLED = 137
SPIN_NS = 3_000_000_000
CLASS_BYTES = 4096  # in metaspace, at most


def test_a_file_that_is_read_three_times(
    tmp_path: host.GuestPath, cleanup: Cleanup, start: Start, dtrace: Any, update: bool
) -> None:
    """A page of each MiB: the first round comes from the disk."""
    disk = cleanup.enter_context(host.slow_disk(tmp_path, "ext4", read_us=READ_US, fill={"data": MEBIBYTES}))
    read = start("read", "--mode", "buffered", "--count", READS, "--file", disk.mountpoint / "data")
    script = dtrace("pgcache", read)
    truth = read.run()
    seen = script.stop(example=True)
    reads = seen.stats("reads_ns")
    [key] = {name.rpartition(" ")[0] for name in reads if name.startswith("read data ")}
    hits, misses = reads[f"{key} hit"], reads[f"{key} miss"]
    assert (hits.count, misses.count) == (READS - MEBIBYTES, MEBIBYTES)
    assert seen.sums("hit_percent")[key] == 100 * (READS - MEBIBYTES) // READS
    assert seen.sums("read_bytes")[key] == READS * 4096
    assert MEBIBYTES * READ_US * 1000 <= misses.total <= truth["read_ns"]
    assert 0.9 * truth["read_ns"] <= hits.total + misses.total <= truth["read_ns"]
    seen.check_golden(update, "read")


def test_a_file_that_is_mapped_or_read_past_the_cache(
    tmp_path: host.GuestPath, cleanup: Cleanup, start: Start, dtrace: Any
) -> None:
    """What page faults bring in stands for itself; O_DIRECT is neither a hit nor a miss."""
    disk = cleanup.enter_context(host.slow_disk(tmp_path, "ext4", read_us=500, fill={"data": MEBIBYTES}))
    fault = start("major_fault", "--count", 13, "--file", disk.mountpoint / "data")
    past = start("read", "--mode", "direct", "--count", READS, "--file", disk.mountpoint / "data")
    script = dtrace("pgcache")
    past.run()
    fault.run()
    seen = script.stop()
    added = [number for key, number in seen.sums("added").items() if key.startswith("major_fault ")]
    assert sum(added) >= 13
    assert not any(" data " in key for key in seen.stats("reads_ns"))


def test_the_limit_of_a_group(guest: Guest, cleanup: Cleanup, start: Start, dtrace: Any, update: bool) -> None:
    group = cleanup.enter_context(limited(guest, "tight", LIMIT_MIB))
    target = start("devour", "--mebibytes", 2 * LIMIT_MIB, prepare=f"echo $pid >{group}/cgroup.procs")
    script = dtrace("oomwhy", target)
    target.start()
    assert isinstance(target, GuestWorkload) and target.end() == KILLED
    seen = script.stop(example=True)
    assert seen.sums("killed") == {"group tight:": 1}
    named = f"killed: {target.pid} devour, asked by: {target.pid} devour, for 1 page(s), limit: group tight"
    assert named in seen.text
    seen.check_golden(update, "group")


@pytest.mark.timeout(120)
def test_a_writer_is_paused(slow: str, start: Start, dtrace: Any, update: bool) -> None:  # noqa: F811
    """17 MiB through a limit of 8: what is over it has to be written first, at 4 MB a second."""
    options = ("--mode", "none", "--count", 8 * 17, "--bytes", MEBIBYTE // 8, "--file", f"{slow}/written")
    flush = start("flush", *options)
    script = dtrace("dirtythrottle", flush)
    truth = flush.run()
    seen = script.stop(example=True)
    assert truth["write_ns"] > 1_500_000_000, "nobody was paused: nothing was tested"
    pauses = seen.stats("pauses")[f"{DEVICE} flush {flush.pid}"]
    assert 0.8 * truth["write_ns"] <= pauses.total <= truth["write_ns"]
    assert pauses.count == seen.sum("pause_ns") <= truth["blocks"]
    assert pauses.total / pauses.count <= seen.sums("longest_ns")[DEVICE] < 300_000_000
    assert MEBIBYTE <= 4096 * seen.sums("dirty_pages")[DEVICE] <= 9 * MEBIBYTE
    seen.check_golden(update, DEVICE)


def test_the_only_state(guest: Guest, start: Start, dtrace: Any, update: bool) -> None:
    """With one idle state to choose from, that is the one that is slept in and left for each wake-up."""
    with only(guest, 3):
        workload = start("wake", "--count", WAKEUPS, "--cpu", 1, "--waker-cpu", 0)
        script = dtrace("cstate", workload)
        before = sum(usage(guest, 0) + usage(guest, 1))
        truth = workload.run()
        seen = script.stop(example=True)
        after = sum(usage(guest, 0) + usage(guest, 1))
    sleeps, wakeups = seen.stats("sleeps"), seen.stats("wakeups")
    assert set(sleeps) == {"3"} and set(wakeups) <= {"3 asleep", "3 left"}
    assert WAKEUPS / 2 <= sleeps["3"].count <= after - before + WAKEUPS
    # The others found somebody on their CPU.
    assert WAKEUPS / 2 <= wakeups["3 asleep"].count <= sum(each.count for each in wakeups.values()) <= 2 * WAKEUPS + 20
    assert wakeups["3 asleep"].average * WAKEUPS / 2 < truth["wake_ns"], "no more than waker and woken saw themselves"
    seen.check_golden(update)


def test_a_quota_of_20_percent(guest: Guest, start: Start, dtrace: Any, update: bool) -> None:
    with host.guest_cgroup(guest, "cpu", "quota", cfs_period_us=100_000, cfs_quota_us=20_000) as group:
        workload = start("spin", "--duration-ms", 3000, prepare=f"echo $pid >{group}/cgroup.procs")
        script = dtrace("throttled", workload)
        truth = workload.run()
        seen = script.stop(example=True)
        witness_ns = int(dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())["throttled_time"])
    throttled = seen.stats("throttled")[group.name]
    assert throttled.total == pytest.approx(witness_ns, rel=0.1, abs=100_000_000), (throttled, witness_ns, truth)
    assert throttled.total <= 1.02 * (truth["wall_ns"] - truth["cpu_ns"]) + 50_000_000
    assert throttled.count == seen.sum("throttled_ns") > 5
    assert sum(seen.sums("groups").values()) >= throttled.count
    seen.check_golden(update)


def test_without_a_quota_nobody_is_throttled(start: Start, dtrace: Any) -> None:
    """Waits for a CPU alone do not count."""
    workload = start("spin", "--threads", 2, "--cpu", 1, "--duration-ms", 1000)
    script = dtrace("throttled", workload)
    workload.run()
    seen = script.stop()
    assert seen.stats("throttled") == {} == seen.sums("groups") and "throttled_ns" not in seen.tables()


def test_a_receiver_that_reads_slowly(start: Start, dtrace: Any, update: bool) -> None:
    """Nearly all of the time of sends is waited for its window; a pipe that is full is no peer."""
    sender = start("send", "--bytes", 2_000_000)
    script = dtrace("tcpwindow", sender)
    truth = sender.run()
    seen = script.stop(example=True)
    waits = seen.stats("waits_ns")
    peer = f"127.0.0.1 {truth['port']}"
    assert {key.rpartition(" ")[0] for key in waits} == {peer}
    assert sum(each.total for each in waits.values()) <= truth["send_ns"]
    assert waits[f"{peer} receiver"].total >= 0.9 * truth["send_ns"] > 200_000_000, "the receiver was not slow"
    seen.check_golden(update)


def test_classes_that_are_loaded_again_and_again(guest: Guest, cleanup: Cleanup, dtrace: Any, update: bool) -> None:
    """The JVM counts collections of its whole heap, which has room for everything but classes.

    It gives back what the last one has unloaded only after it has told how much is used."""
    source = (ROOT / "tests" / "workloads" / "Classes.java").read_text()
    java = cleanup.enter_context(Java(guest, "Classes", source, 2000, options=("-XX:MetaspaceSize=8m",)))
    script = dtrace("metaspace", java.process_pid)
    java.here("echo go >in")
    assert java.end() == 0
    truth = json.loads(java.here("tail -n 1 out"))
    seen = script.stop(example=True)
    for name in ("loaded", "unloaded"):
        assert seen.sums(name)["Classes$Copied"] == truth[name] == 2000
    collections = seen.stats("for_classes")["CollectForMetadataAllocation"]
    assert collections.count == truth["full_collections"] > 0
    assert 0 < collections.total < truth["elapsed_ns"]
    used_bytes, committed_bytes = (seen.sums(name)["Metaspace"] for name in ("used_bytes", "committed_bytes"))
    assert 0.95 * truth["used_bytes"] <= used_bytes <= truth["used_bytes"] + 2000 * CLASS_BYTES
    assert used_bytes <= committed_bytes < 1 << 24
    seen.check_golden(update, "CollectForMetadataAllocation", "Metaspace", "Classes$Copied")


def test_half_of_the_time_at_half_of_the_clock(clocks: Guest, start: Start, dtrace: Any, update: bool) -> None:  # noqa: F811
    """What is computed before and after the change; samples of 3 s are good to 10 %.  It runs last: see the fixture."""
    slowly, fast = (start("spin", "--duration-ms", SPIN_NS // 1_000_000, "--cpu", 1) for _ in range(2))
    script = dtrace("cpufreqlow")
    clocks.run(set_to(SLOW))
    slow_ns = slowly.run()["cpu_ns"]
    clocks.run(set_to(FAST))
    fast_ns = fast.run()["cpu_ns"]
    seen = script.stop(example=True)
    ran = seen.sums("ran_ns")
    assert set(ran) <= {"0", str(SLOW), str(FAST)}
    # Others run in the guest meanwhile, on the other CPU too.
    assert 0.8 * slow_ns <= ran[str(SLOW)] <= 1.2 * slow_ns + SPIN_NS / 2, (ran, slow_ns)
    assert 0.8 * fast_ns <= ran[str(FAST)] <= 1.2 * fast_ns + SPIN_NS / 2, (ran, fast_ns)
    seen.check_golden(update, str(SLOW), str(FAST))


def test_a_process_at_a_clock_that_does_not_change(clocks: Guest, start: Start, dtrace: Any) -> None:  # noqa: F811
    target = start("spin", "--duration-ms", SPIN_NS // 1_000_000, "--cpu", 1)
    script = dtrace("cpufreqlow", target)
    truth = target.run()
    ran = script.stop().sums("ran_ns")
    assert set(ran) == {"0"} and ran["0"] == pytest.approx(truth["cpu_ns"], rel=0.1)
