"""Settings that are not usual and bear on the target's time."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.settings import boot_options, kernel_settings, mount_options
from perfdiag.diagnosis.settings.unusual_settings import MOST, unusual_settings
from perfdiag.model.model import Model

from unit.support import Builder

MOUNT = "29 1 8:0 / /srv rw,relatime - {} /dev/sda {}\n"
NFS_MOUNT = "30 1 0:45 / /jobs rw,relatime - nfs4 nas1:/jobs {}\n"


def reading(seconds: int = 8, key: str = "device:8:0", account: str = "disk.read") -> Builder:
    """A target that waits for most of its time."""
    return Builder(window="10 s").thread("db", cpu_user="500 ms").row(account, key, durations={"10 ms": seconds * 100})


def told(model: Model) -> list[str]:
    """Return what is told, effects left out."""
    return [each.text for each in unusual_settings(model)]


def set_to(path: str, text: str, builder: Builder | None = None) -> list[str]:
    """Return what is told where one file has a text."""
    return told((builder or reading()).fact(path, text).model())


# Files of the kernel


ACCOUNT_OF = {"net.receive": "peer:10.0.0.1:80", "disk.write": "device:8:0", "runq.busy": "cpu", "ipc.unix": "unix"}


def busy_with(accounts: tuple[str, ...]) -> Builder:
    """A target that spends its time in the first of some accounts."""
    name = accounts[0]
    builder = Builder(window="10 s")
    if name.startswith("cpu."):
        return builder.thread("app", **{name.replace(".", "_"): "8 s"})
    return builder.thread("app", cpu_user="1 ms").row(name, ACCOUNT_OF.get(name, ""), durations={"10 ms": 800})


USUAL = {
    "sched_rt_runtime_us": ("950000", "-1"),
    "base_slice_ns": ("3000000", "100000000"),
    "min_granularity_ns": ("3000000", "100000000"),
    "wakeup_granularity_ns": ("4000000", "150000000"),
    "boost": ("1", "0"),
    "max_perf_pct": ("100", "60"),
    "tcp_rmem": ("4096\t131072\t6291456", "4096\t16384\t65536"),
    "tcp_wmem": ("4096\t16384\t4194304", "4096\t16384\t65536"),
    "tcp_mem": ("22773\t30366\t45546", "100\t200\t300"),
    "tcp_congestion_control": ("cubic", "vegas"),
    "ip_local_port_range": ("32768\t60999", "61000\t61999"),
    "defrag": ("always defer defer+madvise [madvise] never", "[always] defer defer+madvise madvise never"),
    "enabled": ("N", "Y"),
    "dirty_bytes": ("0", "8388608"),
    "dirty_ratio": ("20", "1"),
    "dirty_background_ratio": ("10", "60"),
    "dirty_writeback_centisecs": ("500", "0"),
    "dirty_expire_centisecs": ("3000", "360000"),
    "watermark_scale_factor": ("10", "1000"),
    "vfs_cache_pressure": ("100", "1000"),
    "swappiness": ("60", "100"),
    "page-cluster": ("3", "0"),
    "rmem_default": ("212992", "4096"),
    "wmem_default": ("212992", "4096"),
    "netdev_max_backlog": ("1000", "10"),
    "netdev_budget": ("300", "8"),
    "gc_thresh3": ("1024", "128"),
    "tcp_limit_output_bytes": ("4194304", "4096"),
    "tcp_notsent_lowat": ("4294967295", "512"),
    "busy_read": ("0", "50"),
    "busy_poll": ("0", "50"),
    "current_tracer": ("nop", "function_graph"),
    "set_event": ("", "sched:sched_switch\nkmem:kmalloc\n"),
    "kprobe_events": ("", "p:kprobes/myprobe do_sys_open\n"),
    "uprobe_events": ("", "p:uprobes/malloc /usr/lib/libc.so.6:0x1234\n"),
    "zone_reclaim_mode": ("0", "1"),
    "run": ("0", "1"),
    "laptop_mode": ("0", "5"),
    "no_turbo": ("0", "1"),
    "aio-max-nr": ("65536", "1024"),
    "tcp_ecn": ("2", "1"),
    "rcu_normal": ("0", "1"),
}


@pytest.mark.parametrize("each", kernel_settings.KERNEL_SETTINGS, ids=lambda each: each.path.rpartition("/")[2])
def test_a_file_of_the_kernel_is_told_where_it_differs(each: kernel_settings.KernelSetting) -> None:
    usual, other = USUAL.get(each.path.rpartition("/")[2], ("1", "0"))
    assert not set_to(each.path, f"{usual}\n", busy_with(each.accounts))
    found = set_to(each.path, f"{other}\n", busy_with(each.accounts))
    assert len(found) == 1 and "usually" in found[0], found


def test_the_event_of_programs_that_could_print_is_nobody_who_traces() -> None:
    """The kernel turns it on when such a BPF program is loaded, and leaves it on."""
    path, builder = "/sys/kernel/tracing/set_event", busy_with(("cpu.kernel",))
    assert not set_to(path, "bpf_trace:bpf_trace_printk\n", builder)
    (told_of,) = set_to(path, "bpf_trace:bpf_trace_printk\nsched:sched_switch\n", busy_with(("cpu.kernel",)))
    assert "has 1 event (usually none)" in told_of


@pytest.mark.parametrize("mode", ["0", "2", "5"])
def test_modes_of_ecn_that_ask_for_nothing_are_usual(mode: str) -> None:
    assert not set_to("/proc/sys/net/ipv4/tcp_ecn", f"{mode}\n", busy_with(("net.connect",)))


def test_what_bears_on_little_time_is_not_told() -> None:
    assert set_to("/proc/sys/vm/vfs_cache_pressure", "1000\n")
    assert not set_to("/proc/sys/vm/vfs_cache_pressure", "1000\n", busy_with(("net.receive",)))
    assert not set_to("/proc/sys/net/ipv4/tcp_sack", "0\n")


@pytest.mark.parametrize("text", ["", "\n", "unknown\n", "9" * 5000, "\x1b[2J", "²", "[", "-\n", "1e9\n"])
def test_a_damaged_file_ends_no_report(text: str) -> None:
    for each in kernel_settings.KERNEL_SETTINGS:
        for line in set_to(each.path, text, busy_with(each.accounts)):
            assert line.isprintable() and len(line) < 200


SWAPS = "Filename\tType\tSize\tUsed\tPriority\n/dev/sdb\tpartition\t131068\t55808\t{}\n"
ZRAM = "/dev/zram0\tpartition\t131068\t0\t{}\n"


@pytest.mark.parametrize(("disk", "memory"), [("100", "1"), ("-2", "-3")])
def test_a_disk_that_is_swapped_to_before_compressed_memory(disk: str, memory: str) -> None:
    text = SWAPS.format(disk) + ZRAM.format(memory)
    says = f"swap fills /dev/sdb (priority {disk}) before /dev/zram0 ({memory})"
    assert set_to("/proc/swaps", text, reading(account="memory.swap_in")) == [says]


@pytest.mark.parametrize("zram", ["", ZRAM.format("100"), ZRAM.format("-2"), ZRAM.format("x")])
def test_compressed_memory_first_or_none_is_usual(zram: str) -> None:
    assert not set_to("/proc/swaps", SWAPS.format("-2") + zram, reading(account="memory.swap_in"))


# Mounts


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("rw,sync", "/srv (ext4) is mounted with sync"),
        ("rw,data=journal", "/srv (ext4) is mounted with data=journal"),
        ("rw,commit=1", "/srv (ext4) is mounted with commit=1"),
    ],
)
def test_an_option_of_the_mount_that_was_waited_for(options: str, says: str) -> None:
    writing = reading(account="disk.flush")
    assert set_to("/proc/self/mountinfo", MOUNT.format("ext4", options), writing) == [says]


def test_usual_options_and_other_mounts_are_not_told() -> None:
    usual = MOUNT.format("ext4", "rw,errors=remount-ro,data=ordered,commit=30,noatime,quota")
    other = "31 1 8:16 / /other rw - ext4 /dev/sdb rw,sync\n"
    assert not set_to("/proc/self/mountinfo", usual + other, reading(account="disk.flush"))


@pytest.mark.parametrize(
    ("option", "account"),
    [("noac", "nfs.metadata"), ("actimeo=0", "nfs.metadata"), ("rsize=1024", "nfs.read"), ("sync", "nfs.write")],
)
def test_options_of_nfs(option: str, account: str) -> None:
    builder = reading(key="mount:0:45", account=account)
    text = NFS_MOUNT.format(f"rw,{option},vers=4.2,hard,proto=tcp,timeo=600,addr=10.0.0.9")
    assert set_to("/proc/self/mountinfo", text, builder) == [f"/jobs (nfs4) is mounted with {option}"]
    fine = NFS_MOUNT.format("rw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,timeo=600,sec=sys,addr=10.0.0.9")
    assert not set_to("/proc/self/mountinfo", fine, reading(key="mount:0:45", account=account))


def test_options_of_one_effect_are_told_together() -> None:
    text = NFS_MOUNT.format("rw,vers=4.2,acregmin=0,acregmax=0,acdirmin=0,acdirmax=0,hard,proto=tcp,addr=10.0.0.9")
    found = set_to("/proc/self/mountinfo", text, reading(key="mount:0:45", account="nfs.metadata"))
    assert found == ["/jobs (nfs4) is mounted with acdirmax=0, acregmax=0, acregmin=0"]


def test_each_option_has_an_effect_and_accounts_that_exist() -> None:
    names = [(each.types, each.name) for each in mount_options.MOUNT_OPTIONS]
    assert len(names) == len(set(names))
    assert all(each.effect and each.accounts for each in mount_options.MOUNT_OPTIONS)


# Disks


def below(text: dict[str, str], database: Builder | None = None) -> Builder:
    """A database on dm-0 above sda, with some files of /sys/block."""
    files = {"/sys/block/dm-0/dev": "253:0", "/sys/block/sda/dev": "8:0", "/sys/block": "x"}
    files |= {"/sys/block/dm-0": "../devices/virtual/block/dm-0", "/sys/block/sda": "../devices/pci0000:00/sda"}
    files["/sys/block/dm-0/slaves/sda"] = "../../../../pci0000:00/sda"
    builder = database or reading(key="device:253:0")
    for path, value in (files | text).items():
        builder.fact(path, f"{value}\n")
    return builder


def test_queues_and_layers_of_the_way_to_the_disk() -> None:
    assert not told(below({"/sys/block/sda/queue/read_ahead_kb": "128"}).model())
    assert told(below({"/sys/block/sda/queue/read_ahead_kb": "0"}).model()) == [
        "queue/read_ahead_kb of sda is 0 (usually 128)"
    ]
    written = reading(key="device:253:0", account="disk.flush")
    assert told(below({"/sys/block/sda/queue/wbt_lat_usec": "100"}, written).model()) == [
        "queue/wbt_lat_usec of sda is 100 (usually 2000 or 75000)"
    ]
    assert told(below({"/sys/block/dm-0/dm/uuid": "CRYPT-LUKS2-0123-root"}).model()) == ["dm-0 is encrypted (dm-crypt)"]
    assert told(below({"/sys/block/dm-0/dm/uuid": "mpath-3600"}).model()) == ["dm-0 has one path (usually 2 or more)"]
    assert told(below({"/sys/block/sda/device/state": "transport-offline"}).model()) == [
        "device/state of sda is transport-offline (usually running)"
    ]


# Interfaces


def on_the_network(**files: str) -> Builder:
    """Threads that wait for a peer, and an interface eth0 with some files."""
    builder = reading(key="peer:10.0.0.1:80", account="net.receive")
    known = {"mtu": "1500", "operstate": "up", "device__driver": "../../../bus/pci/drivers/ixgbe"} | files
    for name, text in known.items():
        builder.fact(f"/sys/class/net/eth0/{name.replace('__', '/')}", f"{text}\n")
    return builder.fact("/cpuid/hypervisor", "none\n")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("speed", "100", "eth0 runs at 100 Mbit/s"),
        ("duplex", "half", "eth0 is half duplex"),
        ("mtu", "576", "mtu of eth0 is 576 (usually 1500)"),
        ("bonding__mode", "balance-rr 0", "eth0 sends in mode balance-rr"),
    ],
)
def test_a_link(file: str, text: str, says: str) -> None:
    assert not told(on_the_network(speed="10000", duplex="full").model())
    assert says in told(on_the_network(**{file: text}).model())


def test_peers_on_this_host_are_reached_without_a_link() -> None:
    slow = on_the_network(speed="100").model()
    assert told(slow) == ["eth0 runs at 100 Mbit/s"]
    for peer in ("127.0.0.1:80", "[::1]:80", "127.1.2.3:80"):
        here = reading(key=f"peer:{peer}", account="net.receive")
        for name, text in (("mtu", "1500"), ("operstate", "up"), ("speed", "100")):
            here.fact(f"/sys/class/net/eth0/{name}", f"{text}\n")
        assert not told(here.model())


def test_a_bond_that_nobody_monitors_and_a_link_that_is_down() -> None:
    known = {"bonding__mode": "active-backup 1", "bonding__miimon": "100", "bonding__slaves": "eth1 eth2"}
    assert not told(on_the_network(**known).model())
    blind = on_the_network(**known | {"bonding__miimon": "0", "bonding__arp_interval": "0"})
    assert told(blind.model()) == ["eth0 does not monitor its links (miimon and arp_interval are 0)"]
    down = on_the_network(**known).fact("/sys/class/net/eth2/operstate", "down\n")
    assert told(down.model()) == ["eth2 of eth0 is down"]


def test_what_the_driver_is_set_to() -> None:
    usual = (
        "eth0 tso 1 gso 1 gro 1 rx_checksums 1 tx_checksums 1 rx_usecs 3 tx_usecs 0 rx_ring 512 4096 tx_ring 512 4096\n"
    )
    assert not set_to("/ethtool/links", usual, on_the_network())
    off = usual.replace("tso 1", "tso 0").replace("gro 1", "gro 0")
    assert set_to("/ethtool/links", off, on_the_network()) == ["gro and tso of eth0 are off"]
    late = usual.replace("rx_usecs 3", "rx_usecs 5000")
    assert set_to("/ethtool/links", late, on_the_network()) == [
        "eth0 waits 5000 us before it interrupts for packets (rx-usecs)"
    ]
    short = usual.replace("rx_ring 512", "rx_ring 48")
    assert set_to("/ethtool/links", short, on_the_network()) == ["the rx ring of eth0 has 48 entries (at most 4096)"]


@pytest.mark.parametrize(
    "text", ["eth0", "eth0 tso", "eth0 tso x rx_ring 1", "rx_ring", "\x1b tso 0", "eth0 rx_ring 1 ² 3"]
)
def test_damaged_settings_of_drivers(text: str) -> None:
    assert all(line.isprintable() for line in set_to("/ethtool/links", text + "\n", on_the_network()))


def test_a_shaper_and_a_delay() -> None:
    tbf = "eth0 tbf 8001:0 ffff:ffff 500000 0 1 1 0 0 0\n"
    netem = "eth0 netem 8001:0 ffff:ffff 0 40000000 1 1 0 0 0\n"
    assert set_to("/traffic_control/100", tbf, on_the_network()) == ["tbf on eth0 lets 4 Mbit/s out"]
    assert set_to("/traffic_control/100", netem, on_the_network()) == ["netem on eth0 delays each packet by 40.0 ms"]


# The target, and how the kernel was started


def test_the_target_and_its_groups() -> None:
    waiting = reading(key="task:neighbour", account="runq.busy")
    waiting.fact("/proc/100/stat", "100 (app) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 19 1 0 0 0 0" + " 0" * 30 + "\n")
    assert "The target has nice value 19 (usually 0)" in told(waiting.model())
    few = reading(key="task:neighbour", account="runq.busy").fact(
        "/proc/100/status", "Name:\tapp\nCpus_allowed_list:\t0\n"
    )
    assert told(few.model()) == ["The target is allowed on 1 CPU of 4 only"]
    computing = Builder(window="10 s").thread("app", cpu_user="8 s")
    text = "Name:\tapp\nSeccomp_filters:\t2\nSpeculation_Store_Bypass:\tthread force mitigated\n"
    assert told(computing.fact("/proc/100/status", text).model()) == [
        "The target runs without speculative store bypass"
    ]


def test_boot_options() -> None:
    computing = (
        Builder(window="10 s").thread("app", cpu_user="8 s").fact("/proc/cmdline", "quiet\nmem=2G\nslub_debug\n")
    )
    assert told(computing.model()) == ["the kernel was started with slub_debug"]
    for begins, accounts, effect in boot_options.BOOT_OPTIONS:
        assert begins and accounts and effect


def test_no_more_are_told_than_anybody_reads() -> None:
    builder = Builder(window="10 s").thread("db", cpu_user="1 ms")
    for number in range(8):
        builder.row("disk.flush", f"device:8:{number}", durations={"10 ms": 120})
    options = "sync,dirsync,strictatime,data=journal,nodelalloc"
    text = "".join(f"{n} 1 8:{n} / /{n} rw - ext4 /dev/sd{n} rw,{options}\n" for n in range(8))
    assert len(unusual_settings(builder.fact("/proc/self/mountinfo", text).model())) == MOST


# What common hosts have by themselves, and what a forged recording may have


@pytest.mark.parametrize(
    "line",
    [
        "eth0 tso 1 gso 1 gro 1 rx_ring 9709 18811 tx_ring 170 2560",  # netvsc
        "eth0 tso 1 gso 1 gro 1 rx_usecs 20 tx_usecs 72 rx_ring 200 2047 tx_ring 511 511",  # tg3
        "eth0 tso 1 gso 1 gro 1 rx_usecs 203 tx_usecs 5000 rx_ring 512 1024 tx_ring 512 1024",  # stmmac
    ],
)
def test_what_drivers_begin_with_is_usual(line: str) -> None:
    assert not set_to("/ethtool/links", f"{line}\n", on_the_network())


def test_interfaces_of_a_container_are_looked_at_too() -> None:
    veth = "lo tso 1 gso 1 gro 1\neth0 tso 1 gso 1 gro 0 rx_checksums 1 tx_checksums 1\n"
    assert not set_to("/ethtool/100", veth, on_the_network())
    off = veth.replace("eth0 tso 1 gso 1", "eth0 tso 0 gso 0")
    assert set_to("/ethtool/100", off, on_the_network()) == ["gso and tso of eth0 are off"]


def test_usual_mounts_of_cifs_and_disks_of_xen() -> None:
    text = "30 1 0:45 / /share rw - cifs //nas/share rw,vers=3.1.1,cache=strict,rsize=4194304,wsize=4194304,actimeo=1\n"
    assert not set_to("/proc/self/mountinfo", text, reading(key="mount:0:45", account="remote.fs"))
    assert not told(below({"/sys/block/sda/device/state": "Connected"}).model())


def test_a_queue_that_the_connections_do_not_pass_is_not_told() -> None:
    tbf = "dummy0 tbf 8001:0 ffff:ffff 500000 0 1 1 0 0 0\ndummy0 address 10.9.9.9\n"
    connected = on_the_network().socket("peer:10.0.0.1:80", local="10.0.0.2:40000")
    assert not set_to("/traffic_control/100", tbf, connected)
    assert set_to("/traffic_control/100", tbf.replace("10.9.9.9", "10.0.0.2"), connected)


def test_the_last_of_an_option_counts() -> None:
    computing = Builder(window="10 s").thread("app", cpu_kernel="8 s")
    assert not told(computing.fact("/proc/cmdline", "audit=1\naudit=0\n").model())


def test_an_io_limit_of_another_disk_is_not_told() -> None:
    group = "/sys/fs/cgroup/limited"
    mounts = "26 1 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    builder = reading().fact("/proc/self/mountinfo", mounts).fact("/proc/100/cgroup", "0::/limited\n")
    builder.fact("/proc/100/status", "Name:\tapp\n")
    builder.fact(f"{group}/io.max", "8:0 rbps=max wbps=max riops=60 wiops=max\n")
    assert told(builder.model()) == [f"{group} has an I/O limit"]
    elsewhere = (
        reading(key="device:8:16").fact("/proc/self/mountinfo", mounts).fact("/proc/100/cgroup", "0::/limited\n")
    )
    elsewhere.fact(f"{group}/io.max", "8:0 rbps=max wbps=max riops=60 wiops=max\n").fact(
        "/proc/100/status", "Name:\ta\n"
    )
    assert not told(elsewhere.model())
