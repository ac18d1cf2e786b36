"""What is read from recorded texts about memory, processes and the kernel log."""

from __future__ import annotations

import math

import msgspec
import pytest
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.process import parse_limits
from perfdiag.facts.texts import Texts

from unit.support.facts import LIMITS, error, facts, lines

VM = "/proc/sys/vm"
NODE = "/sys/devices/system/node"


# Look-ups


def test_a_begin_stands_in_for_a_missing_end_and_a_reason_for_both() -> None:
    gone = "/proc/77/schedstat"
    found = Facts.parse(
        [
            *lines(begin={"/proc/meminfo": "MemFree: 4 kB\n", "/proc/77/status": "Name:\tx\n"}),
            error(gone, "No such file or directory", "end"),
            error("/proc/meminfo", "timeout", "end"),
        ]
    )
    assert found.meminfo("MemFree") == 4096
    assert found.processes[77].wait_ns is None
    assert f"{gone}: No such file or directory" in found.reasons["processes"]


def test_vmstat_of_old_kernels_is_split_by_zone() -> None:
    begin = "pgsteal_kswapd_dma32 10\npgsteal_kswapd_normal 20\nallocstall 3\npgfault 100\n"
    end = "pgsteal_kswapd_dma32 15\npgsteal_kswapd_normal 38\nallocstall 3\npgfault 90\n"
    found = facts({"/proc/vmstat": begin}, {"/proc/vmstat": end})
    assert found.vmstat_delta("pgsteal_kswapd") == 23
    assert found.vmstat_delta("allocstall") == 0
    assert found.vmstat_delta("pgfault") is None, "a counter that went back is not known"
    assert found.vmstat_delta("pswpin") is None


# Memory


def test_thp_and_ksm() -> None:
    thp, ksm = "/sys/kernel/mm/transparent_hugepage", "/sys/kernel/mm/ksm"
    found = facts(
        {
            f"{thp}/enabled": "always [madvise] never\n",
            f"{thp}/defrag": "always defer defer+madvise [madvise] never\n",
            f"{ksm}/run": "1\n",
            f"{ksm}/pages_sharing": "23\n",
        }
    )
    assert found.transparent_huge_pages and found.transparent_huge_pages.enabled == "madvise"
    assert found.same_page_merging and found.same_page_merging.running and found.same_page_merging.pages_sharing == 23
    assert facts().same_page_merging is None and facts().transparent_huge_pages is None


def test_numa_nodes() -> None:
    numastat = "numa_hit 9\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 7\nlocal_node 5\nother_node {}\n"
    begin = {f"{NODE}/node{n}/numastat": numastat.format(0) for n in (0, 1, 10)}
    end = {f"{NODE}/node{n}/numastat": numastat.format(7) for n in (0, 1, 10)}
    begin |= {f"{NODE}/node0/distance": "10 16 32\n", f"{NODE}/node0/cpulist": "0-5,48-53\n"}
    end |= {f"{NODE}/node0/meminfo": "Node 0 MemTotal:       65842244 kB\nNode 0 MemFree:        61203168 kB\n"}
    nodes = facts(begin, end).numa_nodes
    assert [node.node for node in nodes] == [0, 1, 10]
    assert (nodes[0].cpus, nodes[0].distances, nodes[0].total_bytes) == ("0-5,48-53", (10, 16, 32), 65842244 << 10)
    assert (nodes[1].local, nodes[1].other, nodes[1].total_bytes) == (0, 7, None)


@pytest.mark.parametrize(("page", "mapped_kib"), [(4096, 98_000), (65536, 1_600_000)], ids=["4 KiB", "64 KiB"])
def test_dirty_limits(page: int, mapped_kib: int) -> None:
    found = facts(
        {
            f"{VM}/dirty_ratio": "20\n",
            f"{VM}/dirty_bytes": "0\n",
            "/proc/vmstat": f"nr_mapped {mapped_kib * 1024 // page}\nnr_dirty_threshold 1000\n",
            "/proc/meminfo": f"Dirty:  3788 kB\nWriteback:   0 kB\nMapped:  {mapped_kib + 60} kB\n"
            "HugePages_Total:   7\n",
        }
    )
    limits = found.dirty_limits
    assert limits and limits.limit_bytes is None
    assert limits.threshold_bytes == 1000 * page and limits.dirty_bytes == 3788 << 10
    assert found.meminfo("HugePages_Total") == 7 and found.sysctl("vm/dirty_ratio") == "20"
    assert facts().dirty_limits is None


def test_swap() -> None:
    found = facts(
        {"/proc/vmstat": "pswpin 100\npswpout 7\n"},
        {
            "/proc/vmstat": "pswpin 123\npswpout 7\n",
            f"{VM}/swappiness": "60\n",
            "/proc/swaps": "Filename\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/dm-2   partition\t131068\t\t176\t\t-2\n",
            "/proc/meminfo": "SwapTotal:        131068 kB\nSwapFree:         130892 kB\n",
        },
    ).swap
    assert found and (found.total_bytes, found.used_bytes) == (131068 << 10, 176 << 10)
    assert (found.pages_in, found.pages_out, found.swappiness) == (23, 0, 60)
    none = facts({"/proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"}).swap
    assert none and none.total_bytes == 0 and none.pages_in is None
    assert facts().swap is None


# Processes


def test_processes() -> None:
    stat = "77 (a) b) (c) S 1 77 77 0 -1 4194560 100 0 10 0 157 2 3 218 20 0 7 0 100 1 2\n"
    found = facts(
        {
            "/proc/77/stat": stat,
            "/proc/77/schedstat": "1000 50 3\n",
            "/proc/77/io": "rchar: 20\nread_bytes: 4096\n",
            "/proc/77/limits": LIMITS,
        },
        {
            "/proc/77/stat": stat,
            "/proc/77/schedstat": "4000 80 9\n",
            "/proc/77/autogroup": "/autogroup-82 nice -3\n",
            "/proc/77/io": "rchar: 120\nread_bytes: 8192\n",
            "/proc/77/status": "Name:\ta) b) (c\nThreads:\t7\nVmRSS:\t    5576 kB\nCpus_allowed_list:\t0-1\n",
        },
    ).processes[77]
    assert (found.comm, found.threads, found.resident_bytes, found.swapped_bytes) == ("a) b) (c", 7, 5576 << 10, None)
    assert (found.wait_ns, found.read_bytes, found.read_characters) == (30, 4096, 100)
    assert found.written_bytes is None and found.cpus_allowed == "0-1"
    assert found.limits["Max open files"] == (1024, 524288) and found.limits["Max cpu time"] == (math.inf, math.inf)
    assert found.limits["Max nice priority"] == (0, 0)
    assert not parse_limits("Max open files            -20000               -1                   files\n")
    empty = facts({"/proc/77/status": "Name:\t\nThreads:\t7\n"}).processes[77]
    assert empty.comm == "(no name)"
    assert (found.session, found.session_nice) == (82, -3) and empty.session is empty.session_nice is None
    for text in ("/autogroup-8", "/autogroup-0 nice 0\n"):
        none = facts({"/proc/77/status": "Name:\tx\n", "/proc/77/autogroup": text}).processes[77]
        assert none.session is none.session_nice is None


def test_threads_with_cpus_of_their_own() -> None:
    """Only those whose CPUs are not the first thread's are recorded; one that ended while it was read says nothing."""
    status = "Name:\tx\nCpus_allowed_list:\t{}\n"
    known = {"/proc/77/status": status.format("0-3"), "/proc/77/task/78/status": status.format("2")}
    found = facts(known | {"/proc/77/task/79/status": ""}, known)
    assert sorted(found.processes) == [77]
    assert found.processes[77].cpus_allowed == "0-3" and found.processes[77].thread_cpus == {78: "2"}
    assert facts({"/proc/77/status": status.format("0-3")}, {}).processes[77].thread_cpus == {}


def test_many_processes_are_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of targets each has its own paths: to look for its threads among all of them takes too long."""
    status = "Name:\tx\nCpus_allowed_list:\t{}\n"
    known = {f"/proc/{pid}/status": status.format("0-3") for pid in range(1, 31)}
    known |= {f"/proc/{pid}/task/{tid}/status": status.format("2") for pid in range(1, 31) for tid in (pid + 100, 99)}
    passes, match = [], Texts.match
    monkeypatch.setattr(Texts, "match", lambda texts, pattern: passes.append(pattern) or match(texts, pattern))
    found = facts(known, known).processes
    assert len(passes) == 2
    assert {pid: process.thread_cpus for pid, process in found.items()} == {
        pid: {99: "2", pid + 100: "2"} for pid in range(1, 31)
    }


def test_descriptors() -> None:
    found = facts(
        {
            "/proc/77/fd": "880 inode 6106",
            "/proc/77/limits": LIMITS,
            "/proc/77/status": "Name:\tx\n",
            "/proc/sys/fs/file-nr": "602\t0\t2466170\n",
        },
        {"/proc/77/fd": "980", "/proc/sys/fs/file-nr": "702\t0\t9223372036854775807\n"},
        series={"/proc/77/fd": "900 inode 6106"},
    )
    own = found.descriptors[77]
    assert [count for _, count in own.used] == [880, 900, 980] and own.soft_limit == 1024
    assert own.latest == 980 and own.growth_per_second == pytest.approx(10)
    assert found.system_descriptors and found.system_descriptors.latest == 702
    denied = Facts.parse([*lines(begin={"/proc/77/status": "Name:\tx\n"}), error("/proc/77/fd", "Permission denied")])
    assert denied.descriptors[77].latest is None and denied.descriptors[77].growth_per_second is None
    assert "/proc/77/fd: Permission denied" in denied.reasons["descriptors"]


# The kernel log


def test_how_much_the_kernel_logged_is_known_by_the_numbers_of_its_lines() -> None:
    """Most lines of a flood mean no trouble, and are not recorded."""
    log = facts({"/dev/kmsg": "4,20392,1,-;a\n"}, {"/dev/kmsg": "4,29530,9,-;b\n4,29553,9,-;\n"}).kernel_log
    assert log and log.logged == 9161
    assert (quiet := facts({"/dev/kmsg": ""}, {"/dev/kmsg": "4,7,9,-;b\n"}).kernel_log) and quiet.logged is None


def test_kernel_log() -> None:
    begin = (
        "6,100,227009,-;EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro\n"
        "6,254,355351,-;clocksource: Switched to clocksource tsc\n"
        "6,900,8000000,-;last record before the window\n"
    )
    end = begin + (
        "3,901,9000001,-;blk_update_request: I/O error, dev sdb, sector 2048 op 0x0:(READ) flags 0x80700 DEVICE=b8:16\n"
        "3,902,9000002,-;nvme nvme0: I/O 5 QID 2 timeout, aborting\n"
        "3,903,9000003,-;nvme nvme0: resetting controller\n"
        "3,904,9000004,-;ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen\n"
        "3,905,9000005,-;Memory cgroup out of memory: Killed process 4242 ([bold]x) total-vm:1kB, anon-rss:2kB\n"
        "3,906,9000006,-;INFO: task gzip:22452 blocked for more than 120 seconds.\n"
        "5,907,9000007,-;nfs: server nas1 not responding, still trying\n"
        "0,908,9000008,-;mce: [Hardware Error]: Machine check events logged\n"
        "2,909,9000009,-;EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2: comm ls: reading directory\n"
    )
    log = facts({"/dev/kmsg": begin}, {"/dev/kmsg": end}).kernel_log
    assert log and len(log.lines) == 12 and [line.in_window for line in log.lines] == [False] * 3 + [True] * 9
    assert [line.device for line in log.io_errors] == ["sdb"] and log.io_errors[0].level == 3
    assert log.io_errors[0].at_ns == 9_000_001_000
    assert [line.device for line in log.device_errors] == ["sdb", "nvme0", "ata3"]
    assert [line.device for line in log.resets] == ["nvme0"]
    assert [line.device for line in log.filesystem_errors] == ["sdb1"]


@pytest.mark.parametrize(
    ("kept", "truncated", "incomplete"), [(901, True, True), (900, True, False), (901, False, False)]
)
def test_a_log_of_which_the_older_half_went(kept: int, truncated: bool, incomplete: bool) -> None:
    """What was read at the begin joins: only what came since, and before what was kept, is not known."""
    begin, end = "3,900,9000000,-;I/O error, dev sdb, sector 1\n", f"3,{kept},9000001,-;I/O error, dev sdb, sector 2\n"
    first, last = lines(begin={"/dev/kmsg": begin}, end={"/dev/kmsg": end})
    log = Facts.parse([first, msgspec.structs.replace(last, truncated=truncated)]).kernel_log
    assert log and log.incomplete is incomplete


def test_of_a_text_that_was_cut_off_the_last_line_says_nothing() -> None:
    text = "           CPU0       CPU1\n HI:       1000       2000\n TIMER:       1000       20"
    begin, end = lines(begin={"/proc/softirqs": text.replace("1000", "900")}, end={"/proc/softirqs": text})
    cut = [msgspec.structs.replace(line, truncated=True) for line in (begin, end)]
    assert dict(Facts.parse([begin, end]).softirqs) == {"HI": 100, "TIMER": 100}
    assert dict(Facts.parse(cut).softirqs) == {"HI": 100}


def test_what_others_wrote_into_the_log_is_not_the_kernels() -> None:
    """Recordings of earlier versions have it; its number counts, for it tells which lines came later."""
    begin = "3,900,9000000,-;I/O error, dev sdb, sector 1\n12,901,9000001,-;I/O error, dev sdc, sector 1\n"
    log = facts({"/dev/kmsg": begin}, {"/dev/kmsg": "3,902,9000002,-;I/O error, dev sdd, sector 1\n"}).kernel_log
    assert log and [(line.device, line.in_window) for line in log.io_errors] == [("sdb", False), ("sdd", True)]


@pytest.mark.parametrize(
    "said",
    [
        "abort dev vda,[16973]: segfault at 0 ip 0000000000401136",
        "I/O error [vda][7]: bad frame",
        "traps: abort [vda][7] general protection fault",
        'audit: type=1326 comm="dev[vda]" exe="/tmp/abort/dev[vda]" sig=31',
        "INFO: task abort dev vda,:77 blocked for more than 120 seconds.",
        "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [abort dev vda,:7]",
        "CPU: 0 PID: 7 Comm: abort dev vda, Not tainted",
        "abort dev vda,: page allocation failure: order:4",
        "abort dev vda,[16138] bad frame in rt_sigreturn frame:00007ffd ip:401136 sp:7ffd",
        "XFS (vda) abort[16138] bad frame in rt_sigreturn frame:00007ffd ip:401136 sp:7ffd",
        "XFS (vda)[7]: segfault at 0 ip 0000000000401136 sp 00007ffd error 4 in app[400000+1000]",
        "netlink: 3 bytes leftover after parsing attributes in process `abort dev vda,'.",
        "netlink: 'abort dev vda,': attribute type 1 has an invalid length.",
        "sd abort vda,: attempted to duplicate a private mapping with mremap.",
        "sd abort vda, (77): attempted to duplicate a private mapping with mremap. This is not supported.",
        "umip: abort dev vda,[7] ip:401136 sp:7ffd: SGDT instruction cannot be used by applications.",
        "usb 1-1: usbfs: process 7 (abort dev vda,) did not claim interface 0 before use",
        "tmpfs: Unknown parameter 'critical medium error: dev vda: sector 81920'",
        "overlayfs: failed to resolve '/abort dev vda, I/O error': -2",
        "vda-abort-abc00: renamed from lo",
        "br0: port 1(vda-abort) entered blocking state",
        "bond0: (slave vda-abort): Enslaving as a backup interface with a down link",
        "BTRFS: device label I/O error, dev vda, devid 1 transid 6 /dev/loop0 (7:0) scanned by mount (77)",
        "usb 1-1: Product: I/O error, dev vda,",
        "capability: warning: `abort dev vda,' uses 32-bit capabilities (legacy support in use)",
    ],
)
def test_a_name_that_a_process_has_given_itself_is_no_trouble_of_a_device(said: str) -> None:
    log = facts({"/dev/kmsg": ""}, {"/dev/kmsg": f"4,901,9000001,-;{said}\n"}).kernel_log
    assert log and not [*log.device_errors, *log.io_errors, *log.filesystem_errors, *log.resets]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0", "io_errors"),
        ("critical medium error, dev sdc, sector 976 op 0x0:(READ)", "io_errors"),
        ("Buffer I/O error on dev dm-3, logical block 7, lost async page write", "io_errors"),
        ("sd 0:0:1:0: [sdb] tag#7 Sense Key : Medium Error [current]", "device_errors"),
        ("sd 2:0:0:0: rejecting I/O to offline device", "device_errors"),
        ("hpsa 0000:03:00.0: scsi 0:1:0:0: aborting:command LUN", "device_errors"),
        ("mpt3sas_cm0: log_info(0x31080000): originator(PL), task abort: SUCCESS", "device_errors"),
        ("md/raid1:md0: Disk failure on sdb1, disabling device.", "device_errors"),
        ("igb 0000:01:00.0 eth0: igb: eth0 NIC Link is Down", "device_errors"),
        ("NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out", "device_errors"),
        ("mmc0: Timeout waiting for hardware interrupt.", "device_errors"),
        ("timeout error, dev nvme0n1, sector 12345 op 0x1:(WRITE) flags 0x800", "device_errors"),
        (" session1: session recovery timed out after 120 secs", "device_errors"),
        (" rport-2:0-1: blocked FC remote port time out: removing target and saving binding", "device_errors"),
        ("qla2xxx [0000:04:00.0]-801c:2: Abort command issued nexus=2:0:1 -- 2002.", "device_errors"),
        ("mptscsih: ioc0: attempting task abort! (sc=ffff88003f9f2ac0)", "device_errors"),
        ("aacraid: Host adapter abort request (0,0,0,0)", "device_errors"),
        ("3w-9xxx: scsi0: WARNING: (0x06:0x002C): Command (0x8a) timed out, resetting card.", "device_errors"),
        ("dasd-eckd 0.0.4711: timeout error", "device_errors"),
        ("exFAT-fs (sdb1): error, I/O error", "io_errors"),
        ("JBD2: Error -5 detected when updating journal superblock for dm-0-8.", "filesystem_errors"),
        ("megaraid_sas 0000:18:00.0: resetting fusion adapter scsi0.", "resets"),
        ("ata5: hard resetting link", "resets"),
        ("usb 2-1: reset high-speed USB device number 3 using xhci_hcd", "resets"),
        ("XFS (dm-0): metadata I/O error in xfs_buf_iodone at daddr 0x1 len 1 error 5", "filesystem_errors"),
        ("BTRFS error (device sda2): parent transid verify failed", "filesystem_errors"),
        ("EXT4-fs (vda1): Remounting filesystem read-only", "filesystem_errors"),
        ("JBD2: Detected IO errors while flushing file data on vda1-8", "filesystem_errors"),
    ],
)
def test_what_drivers_and_file_systems_report(said: str, kind: str) -> None:
    log = facts({"/dev/kmsg": ""}, {"/dev/kmsg": f"4,901,9000001,-;{said}\n"}).kernel_log
    assert log and [line.text for line in getattr(log, kind)] == [said]


def test_a_log_that_was_read_only_once_or_never() -> None:
    once = facts(end={"/dev/kmsg": "3,901,9000001,-;blk_update_request: I/O error, dev sdb, sector 2048\n"}).kernel_log
    assert once and once.io_errors[0].in_window is None
    never = Facts.parse([error("/dev/kmsg", "Operation not permitted")])
    assert never.kernel_log is None and "Operation not permitted" in never.reason("kernel_log")


@pytest.mark.parametrize(
    "said",
    [
        "neighbour: arp_cache: neighbor table overflow!",
        "device-mapper: thin: 254:3: switching pool to out-of-data-space mode",
        "NFSD: starting 10-second grace period (net f0000098)",
        "cgroup: fork rejected by pids controller in #",
        "TCP: out of memory -- consider tuning tcp_mem",
    ],
)
def test_trouble_that_no_rule_knows_is_read_out(said: str) -> None:
    end = f"6,901,9000001,-;{said}\n6,902,9000002,-;{said}\n6,903,9000003,-;eth0: renamed from veth1\n"
    log = facts({"/dev/kmsg": "6,900,9000000,-;\n"}, {"/dev/kmsg": end}).kernel_log
    assert log is not None and list(log.complaints()) == [(said, 2)]


def test_lines_that_differ_in_numbers_are_told_once() -> None:
    end = "".join(f"3,90{n},900000{n},-;I/O error, dev sdd, sector {n}28\n" for n in range(1, 6))
    log = facts({"/dev/kmsg": "6,900,9000000,-;\n"}, {"/dev/kmsg": end}).kernel_log
    assert log is not None and list(log.complaints()) == [("I/O error, dev sdd, sector 128", 5)]


@pytest.mark.parametrize(
    "said",
    [
        "TCP: full[123]: segfault at 0 ip 0 sp 0 error 4",
        "TCP: full: renamed from eth0",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
    ],
)
def test_what_a_process_can_name_itself_is_no_trouble_of_the_kernel(said: str) -> None:
    log = facts({"/dev/kmsg": "6,900,9000000,-;\n"}, {"/dev/kmsg": f"4,901,9000001,-;{said}\n"}).kernel_log
    assert log is not None and not log.complaints()


def test_trouble_before_the_window_is_not_read_out() -> None:
    line = "4,901,9000001,-;neighbour: arp_cache: neighbor table overflow!\n"
    log = facts({"/dev/kmsg": line}, {"/dev/kmsg": line}).kernel_log
    assert log is not None and not log.complaints()
