"""What is read from recorded texts about disks, mounts and network interfaces: real, emulated or paravirtual."""

from __future__ import annotations

import pytest
from perfdiag.facts.host_facts import Facts

from unit.support.facts import MOUNTINFO, error, facts, lines

BARE = {"/proc/cpuinfo": "model name\t: Intel(R) Xeon(R) CPU E5-2620\nflags\t: fpu\n"}
GUEST = {"/proc/cpuinfo": "model name\t: Intel(R) Xeon(R) CPU E5-2620\nflags\t: fpu hypervisor\n"}


def test_mounts() -> None:
    found = facts({"/proc/self/mountinfo": MOUNTINFO, "/proc/77/mountinfo": MOUNTINFO})
    assert [mount.mountpoint for mount in found.mounts] == ["/proc", "/", "/mnt/with space", "/data", "/jobs"]
    root = found.mount_of("8:1")
    assert root and root.mountpoint == "/" and {"noatime", "errors=remount-ro"} <= root.options
    jobs = found.mount_of("0:50")
    assert jobs and jobs.source == "nas1:/jobs" and jobs.fstype == "nfs4"
    assert found.mount_of("9:9") is None


def test_what_was_mounted_or_unmounted_in_the_window_has_a_name() -> None:
    """An automounter mounts what is asked for first in the window; what ended in it was waited for, too."""
    root, jobs = (
        line + "\n" for line in MOUNTINFO.split("\n") if " / " in line and (" 8:1 " in line or "nas1" in line)
    )
    path = "/proc/self/mountinfo"
    for begin, end in ((root, root + jobs), (root + jobs, root)):
        found = facts({path: begin}, {path: end})
        mount = found.mount_of("0:50")
        assert mount and mount.source == "nas1:/jobs" and len(found.mounts) == 2


def test_a_btrfs_is_found_by_its_device_name() -> None:
    """Its mounts have a number of their own, its requests the disk's."""
    found = facts({"/proc/self/mountinfo": MOUNTINFO, "/proc/diskstats": "   8      17 sdb1 1 0 8 1 0 0 0 0 0 1 1\n"})
    mount = found.mount_of("8:17")
    assert mount and mount.mountpoint == "/data"


def test_disks_of_a_bare_metal_host() -> None:
    stats = (
        "   8       0 sda {0} 0 {1} {2} 0 0 0 0 3 {2} {2} 0 0 0 0 {0} {2}\n"
        "   8       1 sda1 {0} 0 {1} {2} 0 0 0 0 0 {2} {2}\n"
        " 259       0 nvme0n1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        "   9       0 md0 0 0 0 0 0 0 0 0 0 0 0\n"
        " 253       0 dm-0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
    block = "/sys/block"
    found = facts(
        BARE
        | {
            "/proc/diskstats": stats.format(100, 800, 1000),
            f"{block}/sda": "../devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda",
            f"{block}/sda/dev": "8:0\n",
            f"{block}/sda/size": "1953525168\n",
            f"{block}/sda/queue/rotational": "1\n",
            f"{block}/sda/queue/scheduler": "none [mq-deadline] kyber\n",
            f"{block}/sda/sda1/partition": "1\n",
            f"{block}/sda/device/model": "ST1000NM0033-9ZM\n",
            f"{block}/sda/device/driver": "../../../../../../../bus/scsi/drivers/sd",
            "/sys/class/scsi_host/host0/proc_name": "ahci\n",
            f"{block}/nvme0n1": "../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1",
            f"{block}/nvme0n1/device/device/driver": "../../../../bus/pci/drivers/nvme",
            f"{block}/nvme0n1/device/model": "SAMSUNG MZVLB512HAJQ-00000\n",
            f"{block}/nvme0n1/queue/rotational": "0\n",
            f"{block}/md0": "../devices/virtual/block/md0",
            f"{block}/md0/md/level": "raid1\n",
            f"{block}/md0/md/degraded": "1\n",
            f"{block}/md0/slaves/sda1": "../../../../pci0000:00/block/sda/sda1",
            f"{block}/dm-0": "../devices/virtual/block/dm-0",
            f"{block}/dm-0/dm/name": "vg0-data\n",
            f"{block}/dm-0/slaves/md0": "../../md0",
        },
        {"/proc/diskstats": stats.format(123, 984, 1460)},
    )
    disk = found.disks["8:0"]
    assert (disk.name, disk.driver, disk.kind, disk.rotational) == ("sda", "ahci", "physical", True)
    assert (disk.scheduler, disk.size_bytes) == ("mq-deadline", 1953525168 * 512)
    assert disk.activity and disk.activity.reads == 23 and disk.activity.read_bytes == 184 * 512
    assert disk.activity.busy_ns == 460_000_000 and disk.activity.flushes == 23
    partition = found.disks["8:1"]
    assert partition.whole == "sda" and partition.rotational and partition.activity
    assert partition.activity.reads == 23 and partition.activity.flushes is None, "only 11 columns: Linux before 4.18"
    nvme = found.disks["259:0"]
    assert (nvme.driver, nvme.kind, nvme.rotational) == ("nvme", "physical", False)
    array, volume = found.disks["9:0"], found.disks["253:0"]
    assert (array.kind, array.label, array.degraded, array.members) == ("stacked", "raid1", 1, ("8:1",))
    assert (volume.kind, volume.label, volume.members) == ("stacked", "vg0-data", ("9:0",))
    assert found.disk_name("253:0") == "dm-0 (253:0)" and found.disk_name("1:2") == "1:2"


@pytest.mark.parametrize(
    ("host", "name", "texts", "kind"),
    [
        (GUEST, "vda", {"": "../d/pci0000:00/virtio1/block/vda", "/device/driver": "x/virtio_blk"}, "paravirtual"),
        (GUEST, "xvda", {"": "../devices/vbd-51712/block/xvda", "/device/driver": "x/vbd"}, "paravirtual"),
        (GUEST, "sda", {"": "../d/virtio0/host0/t/block/sda", "/device/driver": "x/sd"}, "paravirtual"),
        (GUEST, "sda", {"": "../d/host2/t/block/sda", "scsi": "mptspi"}, "emulated"),
        (
            GUEST,
            "sda",
            {"": "../d/host2/t/block/sda", "scsi": "vmw_pvscsi", "/device/model": "Virtual disk"},
            "paravirtual",
        ),
        (GUEST, "sda", {"": "../d/host2/t/block/sda", "scsi": "storvsc_host_t"}, "paravirtual"),
        (
            GUEST,
            "sda",
            {"": "../d/ata1/host0/t/block/sda", "scsi": "ata_piix", "/device/model": "QEMU HARDDISK"},
            "emulated",
        ),
        (BARE, "sda", {"": "../d/ata1/host0/t/block/sda", "scsi": "ata_piix", "/device/model": "WDC WD10"}, "physical"),
        ({}, "sda", {"": "../d/ata1/host0/t/block/sda", "scsi": "ata_piix"}, None),
        (GUEST, "nvme0n1", {"": "../d/nvme0n1", "/device/model": "Amazon Elastic Block Store"}, "network"),
        (
            GUEST,
            "nvme0n1",
            {"": "../d/nvme0n1", "/device/device/driver": "x/nvme", "/device/model": "QEMU NVMe Ctrl"},
            "emulated",
        ),
        (BARE, "sdc", {"": "../d/platform/host5/session1/target5:0:0/block/sdc", "scsi": "iscsi_tcp"}, "network"),
        (BARE, "loop3", {"": "../devices/virtual/block/loop3", "/loop/backing_file": "/srv/image"}, "loop"),
        (BARE, "zram0", {"": "../devices/virtual/block/zram0"}, "ram"),
    ],
)
def test_kinds_of_disks(host: dict[str, str], name: str, texts: dict[str, str], kind: str | None) -> None:
    scsi = texts.pop("scsi", None)
    recorded = {f"/sys/block/{name}{file}": text for file, text in texts.items()} | {f"/sys/block/{name}/dev": "8:0\n"}
    if scsi:
        number = next(part for part in texts[""].split("/") if part.startswith("host"))
        recorded[f"/sys/class/scsi_host/{number}/proc_name"] = f"{scsi}\n"
        texts["scsi"] = scsi
    assert facts(host | recorded).disks["8:0"].kind == kind


@pytest.mark.parametrize(
    ("host", "name", "driver", "place", "kind"),
    [
        (GUEST, "eth0", "virtio_net", "../../devices/pci0000:00/virtio2/net/eth0", "paravirtual"),
        (GUEST, "ens192", "vmxnet3", "../../devices/pci0000:00/net/ens192", "paravirtual"),
        (GUEST, "eth0", "ena", "../../devices/pci0000:00/net/eth0", "paravirtual"),
        (GUEST, "eth0", "hv_netvsc", "../../devices/vmbus/net/eth0", "paravirtual"),
        (GUEST, "eth0", "vif", "../../devices/vif-0/net/eth0", "paravirtual"),
        (GUEST, "eth0", "e1000", "../../devices/pci0000:00/net/eth0", "emulated"),
        (BARE, "eth0", "e1000", "../../devices/pci0000:00/net/eth0", "physical"),
        ({}, "eth0", "e1000", "../../devices/pci0000:00/net/eth0", None),
        (GUEST, "eth0", "mlx5_core", "../../devices/pci0000:00/net/eth0", "physical"),
        (GUEST, "veth1", None, "../../devices/virtual/net/veth1", "virtual"),
        (BARE, "lo", None, "../../devices/virtual/net/lo", "loopback"),
    ],
)
def test_kinds_of_interfaces(host: dict[str, str], name: str, driver: str | None, place: str, kind: str | None) -> None:
    base = f"/sys/class/net/{name}"
    texts = {base: place, f"{base}/mtu": "1500\n"}
    counters = {f"{base}/statistics/rx_dropped": "5\n"}
    if driver:
        texts[f"{base}/device/driver"] = f"../../../bus/pci/drivers/{driver}"
    (found,) = facts(host | texts | counters, {f"{base}/statistics/rx_dropped": "28\n"}).interfaces
    assert (found.name, found.driver, found.kind) == (name, driver, kind)
    assert found.counters == {"rx_dropped": 23}


def test_an_interface_without_counters() -> None:
    (found,) = facts({"/sys/class/net/eth0/mtu": "1400\n"}).interfaces
    assert found.kind is None and found.counters == {}


def test_tcp_counters_of_two_namespaces() -> None:
    snmp = (
        "Ip: Forwarding InReceives\nIp: 1 77\nTcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\n"
        "Tcp: 1 -1 {0} {0} {1}\n"
    )
    netstat = "TcpExt: TCPTimeouts ListenOverflows TCPToZeroWindowAdv\nTcpExt: {0} {1} 0\nIpExt: InNoRoutes\nIpExt: 0\n"
    begin = {f"/proc/{pid}/net/snmp": snmp.format(100, 0) for pid in (7, 8)}
    end = {f"/proc/{pid}/net/snmp": snmp.format(200, 11) for pid in (7, 8)}
    begin |= {"/proc/7/net/netstat": netstat.format(0, 0)}
    end |= {"/proc/7/net/netstat": netstat.format(23, 5)}
    found = facts(begin, end)
    assert found.tcp and (found.tcp.segments_out, found.tcp.retransmitted_segments) == (200, 22)
    assert (found.tcp.timeouts, found.network_delta("TcpExt.ListenOverflows")) == (23, 5)
    assert found.network_delta("Ip.InReceives") == 0
    assert facts().tcp is None


def test_of_a_target_that_is_gone_the_series_stands_for_the_end() -> None:
    path, snmp = "/proc/7/net/snmp", "Udp: InDatagrams RcvbufErrors\nUdp: {} {}\n"
    read = lines(begin={path: snmp.format(5, 1)}, series={path: snmp.format(500, 710)})
    gone = error(path, "No such file or directory", "end")
    assert Facts.parse([*read, gone]).network_delta("Udp.RcvbufErrors") == 709
    assert Facts.parse(read).network_delta("Udp.RcvbufErrors") is None  # cut off: nobody has tried
    later = lines(end={path: snmp.format(500, 800)})
    assert Facts.parse([*read, *later]).network_delta("Udp.RcvbufErrors") == 799
    alone = "/sys/x"
    read = lines(begin={alone: "3\n"}, series={alone: "8\n"})
    assert Facts.parse([*read, error(alone, "gone", "end")]).texts.delta(alone) == 5
    assert Facts.parse([*read[:1], error(alone, "gone", "end")]).texts.delta(alone) is None
