"""The part of the host facts that is about disks, mounts and NFS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfdiag.facts import mountstats, storage
from perfdiag.facts.hypervisor import Hypervisor
from perfdiag.facts.mountstats import NfsMount
from perfdiag.facts.nfs_connections import NfsConnections, read_nfs_connections
from perfdiag.facts.storage import Disk, Mount
from perfdiag.facts.texts import Texts, fact


class StorageFacts:
    """Devices and mounts, of the recorder's mount namespace and of the targets'."""

    texts: Texts
    hypervisor: fact[Hypervisor | None]

    @fact
    def mounts(self) -> Sequence[Mount]:
        """Of the targets' and the recorder's mount namespaces, in mountinfo's order."""
        return storage.read_mounts(self.texts)

    @fact
    def _mounts(self) -> storage.Mounts:
        return storage.Mounts(self.texts, self.mounts)

    def mount_of(self, device: str) -> Mount | None:
        """Return the mount of a device ("MAJOR:MINOR"), the file system's root before bind mounts."""
        disk = self.disks.get(device)
        names = [disk.name, *([f"mapper/{disk.label}"] if disk.label else [])] if disk else []
        return self._mounts.find(device, names)

    def mounts_of(self, device: str) -> Sequence[Mount]:
        """Return the mount of a device; both, in their order, where another file system got its number meanwhile."""
        found = self.mount_of(device)
        return self._mounts.find_successor(device) or ((found,) if found else ())

    @fact
    def nfs_mounts(self) -> Sequence[NfsMount]:
        """NFS mounts of the recorder's mount namespace, with the calls of everybody in the window."""
        return mountstats.read_nfs_mounts(self.texts)

    def nfs_mount_of(self, device: str) -> NfsMount | None:
        """Return the NFS mount of a device ("MAJOR:MINOR")."""
        places = [(mount.source, mount.mountpoint) for mount in self._mounts.of_device(device)]
        return next((self._nfs_places[place] for place in places if place in self._nfs_places), None)

    @fact
    def _nfs_places(self) -> Mapping[tuple[str, str], NfsMount]:
        return {(mount.source, mount.mountpoint): mount for mount in reversed(self.nfs_mounts)}

    @fact
    def nfs_connections(self) -> Mapping[str, NfsConnections]:
        """Connections of the recorder's network namespace to NFS servers (TCP, port 2049), by the server's address."""
        return read_nfs_connections(self.texts)

    def nfs_connections_of(self, device: str) -> NfsConnections | None:
        """Return those that serve the mount of a device ("MAJOR:MINOR"); others may use them, too."""
        options = (option for mount in self._mounts.of_device(device) for option in mount.options)
        addresses = {option.removeprefix("addr=") for option in options if option.startswith("addr=")}
        return next((self.nfs_connections[each] for each in addresses if each in self.nfs_connections), None)

    @fact
    def disks(self) -> Mapping[str, Disk]:
        """By "MAJOR:MINOR", partitions included."""
        return storage.read_disks(self.texts, self.hypervisor)

    def disk_name(self, device: str) -> str:
        """Return "sda (8:0)" for "8:0", or the device as given when unknown."""
        disk = self.disks.get(device)
        return f"{disk.name} ({device})" if disk else device
