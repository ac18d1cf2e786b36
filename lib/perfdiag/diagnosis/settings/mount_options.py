"""Options with which the file systems are mounted that the target waited for."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.settings.unusual import DISK, Unusual, time_at, waited_for
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.facts.storage import Mount
from perfdiag.facts.texts import number
from perfdiag.model.model import Model

_READ, _WRITE, _FLUSH = "disk.read", "disk.write", "disk.flush"
_NFS_WRITE = ("nfs.write", "nfs.commit")
_NFS_NAMES = ("nfs.metadata", "nfs.read")
_NFS = ("nfs.read", "nfs.write", "nfs.commit", "nfs.metadata", "nfs.lock")
_REMOTE = ("remote.fs",)
_WAITS = (*DISK, *_NFS, *_REMOTE)


_ALL: frozenset[str] = frozenset()
_EXT, _XFS, _BTRFS, _F2FS = frozenset({"ext3", "ext4"}), frozenset({"xfs"}), frozenset({"btrfs"}), frozenset({"f2fs"})
_NFS_TYPES, _CIFS = frozenset({"nfs", "nfs4"}), frozenset({"cifs", "smb3"})
_9P, _FUSE = frozenset({"9p"}), frozenset({"fuse", "fuseblk"})


@dataclass(frozen=True)
class MountOption:
    """One option that is not usual."""

    types: frozenset[str]  # of file systems; empty: all
    name: str  # "sync", or "commit=" with a value
    accounts: tuple[str, ...]
    effect: str
    below: int | None = None  # only values below this one are unusual
    above: int | None = None  # likewise
    may_be_meant: bool = False  # some distributions set it: it explains no waits alone

    def fits(self, mount: Mount, option: str) -> bool:
        """Return whether an option that begins with this name is meant."""
        if self.types and mount.fstype.partition(".")[0] not in self.types:
            return False
        if self.below is None and self.above is None:
            return True
        value = number(option.removeprefix(self.name))
        if value is None:
            return False
        return (self.below is not None and value < self.below) or (self.above is not None and value > self.above)


MOUNT_OPTIONS = (
    MountOption(_ALL, "sync", (_WRITE, _FLUSH, *_NFS_WRITE), "each write waits until it is safe"),
    MountOption(_ALL, "dirsync", (_WRITE, _FLUSH), "each new, renamed or removed name waits until it is safe"),
    MountOption(_EXT, "data=journal", (_WRITE, _FLUSH), "all data is written twice, into the journal first"),
    MountOption(_EXT, "nodelalloc", (_WRITE, _FLUSH), "each write looks for its blocks at once"),
    MountOption(_EXT | _BTRFS, "commit=", (_WRITE, _FLUSH), "the journal is written more often", below=5),
    MountOption(_XFS, "wsync", (_WRITE, _FLUSH), "each change of a name waits until it is safe"),
    MountOption(_BTRFS, "flushoncommit", (_WRITE, _FLUSH), "each commit writes the data of all files"),
    MountOption(_BTRFS, "autodefrag", (_WRITE, _FLUSH), "small writes make more be written again"),
    MountOption(_BTRFS, "compress-force=", (_READ, _WRITE, _FLUSH), "data is compressed, even if it gets no smaller"),
    MountOption(_BTRFS | _F2FS, "compress=", (_READ, _WRITE, _FLUSH), "data is compressed", may_be_meant=True),
    MountOption(_NFS_TYPES, "noac", _NFS, "attributes are not cached, and each write waits for the server"),
    MountOption(_NFS_TYPES, "actimeo=", _NFS_NAMES, "attributes are hardly cached", below=3),
    MountOption(_CIFS, "actimeo=", _REMOTE, "attributes are not cached", below=1),
    MountOption(_NFS_TYPES, "acregmin=", _NFS_NAMES, "attributes are hardly cached", below=1),
    MountOption(_NFS_TYPES, "acregmax=", _NFS_NAMES, "attributes are hardly cached", below=3),
    MountOption(_NFS_TYPES, "acdirmax=", _NFS_NAMES, "attributes are hardly cached", below=3),
    MountOption(_NFS_TYPES, "lookupcache=none", _NFS_NAMES, "the server is asked for each name again"),
    MountOption(_NFS_TYPES, "lookupcache=pos", _NFS_NAMES, "the server is asked again for names that do not exist"),
    MountOption(_NFS_TYPES, "nordirplus", _NFS_NAMES, "reading a directory brings no attributes: each costs a call"),
    MountOption(_NFS_TYPES, "rsize=", ("nfs.read",), "each read asks for little", below=65536),
    MountOption(_NFS_TYPES, "wsize=", _NFS_WRITE, "each write carries little", below=65536),
    MountOption(_NFS_TYPES, "vers=2", _NFS, "an old protocol with small pieces and without commits"),
    MountOption(_NFS_TYPES, "proto=udp", _NFS, "a lost packet makes the whole call be sent again"),
    MountOption(_NFS_TYPES, "sec=krb5p", _NFS, "each call is encrypted"),
    MountOption(_NFS_TYPES, "sec=krb5i", _NFS, "each call is signed"),
    MountOption(_NFS_TYPES, "timeo=", _NFS, "a lost call is sent again late", above=600),
    MountOption(_CIFS, "cache=none", _REMOTE, "each read and write goes to the server"),
    MountOption(_CIFS, "seal", _REMOTE, "each call is encrypted"),
    MountOption(_CIFS, "rsize=", _REMOTE, "each read asks for little", below=65536),
    MountOption(_CIFS, "wsize=", _REMOTE, "each write carries little", below=65536),
    MountOption(_9P, "cache=none", _REMOTE, "each look-up, read and write goes to the server"),
    MountOption(_9P, "msize=", _REMOTE, "each read and write carries little", below=131_072),
    MountOption(_FUSE, "max_read=", _REMOTE, "each read asks for little", below=65536),
    MountOption(_FUSE, "direct_io", _REMOTE, "each read goes to the process that serves the files"),
)
_TOLD_BY = ("NFS-METADATA-CHATTY", "NFS-SYNC-MOUNT")
_BY_NAME = groups_by_key((each.name, each) for each in MOUNT_OPTIONS)
_MOST_OPTIONS = 256  # of a mount, which has a dozen


def mount_options(model: Model) -> Iterator[Unusual]:
    """Yield the unusual options of the file systems that were waited for, those of one effect together."""
    told: set[tuple[str, str]] = set()
    for key in waited_for(model, _WAITS, ("device:", "mount:")):
        for mount in model.facts.mounts_of(key.partition(":")[2]):
            for kind, options in _unusual(mount).items():
                if (mount.mountpoint, kind.effect) not in told:
                    told.add((mount.mountpoint, kind.effect))
                    text = (
                        f"{plain(mount.mountpoint)} ({plain(mount.fstype)}) is mounted with {plain(', '.join(options))}"
                    )
                    ns, remedy = time_at(model, kind.accounts, [key]), _without(mount, options)
                    yield Unusual(
                        text,
                        kind.effect,
                        "/proc/self/mountinfo",
                        ns,
                        kind.accounts,
                        remedy,
                        explains=() if kind.may_be_meant else kind.accounts,
                        told_by=_TOLD_BY,
                    )


def _without(mount: Mount, options: list[str]) -> Remedy:
    return fix(f"mount {plain(mount.mountpoint)} without {plain(', '.join(options))}")


def _unusual(mount: Mount) -> dict[MountOption, list[str]]:
    """Return the unusual options by the first kind of each effect."""
    found: dict[MountOption, list[str]] = {}
    for option in islice(sorted(mount.options), _MOST_OPTIONS):
        names = (option, f"{option.partition('=')[0]}=")
        kinds = (each for name in names for each in _BY_NAME.get(name, ()))
        kind = next((each for each in kinds if each.fits(mount, option)), None)
        if kind is not None:
            first = next((each for each in found if each.effect == kind.effect), kind)
            found.setdefault(first, []).append(option)
    return found
