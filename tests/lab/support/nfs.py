"""An NFS server and its client in one guest: over the loopback device, with an ext4 disk that can be made slow."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from lab.support.guest import Guest
from lab.support.host import GuestPath

numbers = itertools.count(1)

# tcp_diag: here it takes too long to be loaded when it is asked for.
MODULES = "loop dm_mod dm_delay nfsd nfs nfsv3 nfsv4 sunrpc sch_netem tcp_diag"

# A client that finds its server on the same host reads and writes past it, from 6.12 on: here it must not.
SERVE = """
for module in {modules}; do modprobe $module; done
[ ! -e /sys/module/nfs/parameters/localio_enabled ] || echo N >/sys/module/nfs/parameters/localio_enabled
mkdir -p /run/rpcbind /run/sendsigs.omit.d /run/rpc_pipefs
mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
mountpoint -q /run/rpc_pipefs || mount -t rpc_pipefs sunrpc /run/rpc_pipefs
if [ ! -e /run/nfs-serves ]; then
    mkdir -p /run/nfs
    mount -t tmpfs tmpfs /run/nfs
    pidof rpcbind >/dev/null || rpcbind -w
    pidof rpc.statd >/dev/null || rpc.statd --no-notify
    rpc.nfsd --grace-time 10 --lease-time 10 {threads}
    pidof rpc.mountd >/dev/null || rpc.mountd --manage-gids
    echo Y 2>/dev/null >/proc/fs/nfsd/v4_end_grace || true # refused where no grace period runs
    touch /run/nfs-serves
fi
"""

EXPORT = """
mkdir -p {folder}/export {folder}/mount
truncate -s {size} /run/nfs/{name}.image
loop=$(losetup --find --show /run/nfs/{name}.image)
sectors=$(blockdev --getsz $loop)
dmsetup create {name} --noudevsync --table "$(echo 0 $sectors {table} | sed "s,LOOP,$loop,g")"
dmsetup mknodes
mkfs.ext4 -q -F /dev/mapper/{name}
mount -t ext4 /dev/mapper/{name} {folder}/export
chmod 777 {folder}/export
exportfs -i -o rw,no_root_squash,insecure,sync,no_subtree_check,fsid={number} 127.0.0.1:{folder}/export
timeout 60 mount -t nfs -o {options} 127.0.0.1:{folder}/export {folder}/mount
echo $loop $sectors $(dmsetup info -c --noheadings --separator : -o major,minor {name}) \
    $(sed -n "s|^[0-9]* [0-9]* \\([0-9:]*\\) [^ ]* {folder}/mount .*|\\1|p" /proc/self/mountinfo)
"""

REMOVE = """
tc qdisc del dev lo root 2>/dev/null
umount {folder}/mount || umount -f -l {folder}/mount
exportfs -u 127.0.0.1:{folder}/export
exportfs -f
umount {folder}/export
dmsetup remove --noudevsync {name}
losetup --detach $(losetup --list --noheadings -O NAME,BACK-FILE | sed -n "s| */run/nfs/{name}.image.*||p")
rm -f /run/nfs/{name}.image
"""


def table(read_ms: int, write_ms: int, flush_ms: int) -> str:
    """Return a device-mapper table, without its length, that delays reads, writes and flushes of LOOP."""
    return f"delay LOOP 0 {read_ms} LOOP 0 {write_ms} LOOP 0 {flush_ms}"


@dataclass(frozen=True)
class NfsMount:
    """An export, mounted by its own host."""

    guest: Guest
    name: str
    version: float
    mountpoint: GuestPath
    export: GuestPath
    loop: str
    sectors: int
    device: str  # of the server's disk, as a recording names it
    object: str  # the mount, likewise

    def delay(self, *, read_ms: int = 0, write_ms: int = 0, flush_ms: int = 0) -> None:
        """Make the server's disk as slow as this from now on."""
        delays = table(read_ms, write_ms, flush_ms).replace("LOOP", self.loop)
        self.guest.run(
            f"dmsetup suspend --noudevsync {self.name}\n"
            f"dmsetup reload {self.name} --table '0 {self.sectors} {delays}'\n"
            f"dmsetup resume --noudevsync {self.name}"
        )

    def delay_wire(self, one_way_ms: int) -> None:
        """Make each packet of the loopback device take so long; 0: no longer."""
        self.guest.try_run("tc qdisc del dev lo root")
        if one_way_ms:
            self.guest.run(f"tc qdisc add dev lo root netem delay {one_way_ms}ms limit 100000")

    def drop_wire(self) -> None:
        """Let no packet through any longer: the server is gone, as far as its client can tell."""
        self.guest.try_run("tc qdisc del dev lo root")
        self.guest.run("tc qdisc add dev lo root netem loss 100%")

    def calls(self) -> dict[str, tuple[int, int, int, int]]:
        """Return the mount's calls so far by procedure: their number, and ms queued, on the wire, and in all."""
        text = self.guest.run("cat /proc/self/mountstats")
        _, _, own = text.partition(f"mounted on {self.mountpoint} ")
        found = {}
        for line in own.partition("\ndevice ")[0].partition("per-op statistics\n")[2].splitlines():
            procedure, _, values = line.strip().partition(": ")
            fields = values.split()
            if len(fields) >= 8:
                found[procedure] = (int(fields[0]), int(fields[5]), int(fields[6]), int(fields[7]))
        return found


@contextlib.contextmanager
def nfs(
    guest: Guest,
    *,
    version: float = 4.2,
    options: str = "",
    read_ms: int = 0,
    write_ms: int = 0,
    flush_ms: int = 0,
    size: str = "256M",
    threads: int = 4,
) -> Iterator[NfsMount]:
    """An export of a disk as slow as asked for, mounted with `options`; it is gone afterwards, its server stays."""
    number = next(numbers)
    name, folder = f"nfs{number}", f"/var/tmp/nfs-{number}"
    transport = "proto=tcp,mountproto=tcp" if version < 4 else "proto=tcp"
    words = {"name": name, "folder": folder, "number": number, "size": size}
    guest.run(SERVE.format(modules=MODULES, threads=threads))
    try:
        said = guest.run(
            EXPORT.format(
                **words,
                table=table(0, 0, 0),
                options=",".join(filter(None, (f"vers={version:g}", transport, options))),
            )
        )
        loop, sectors, disk, mount = said.split()[-4:]
        found = NfsMount(
            guest,
            name,
            version,
            GuestPath(guest, f"{folder}/mount"),
            GuestPath(guest, f"{folder}/export"),
            loop,
            int(sectors),
            f"device:{disk}",
            f"mount:{mount}",
        )
        if read_ms or write_ms or flush_ms:
            found.delay(read_ms=read_ms, write_ms=write_ms, flush_ms=flush_ms)
        yield found
    finally:
        guest.tidy(REMOVE.format(**words))


__all__ = ["NfsMount", "nfs"]
