"""What it means that a system call fails with an error, and what can be done."""

import errno
import os
import shlex
from collections.abc import Mapping

_LOCKED = "somebody else has the lock", "find who has it, and for how long: lslocks"
_BY_CALL: Mapping[tuple[str, int], tuple[str, str]] = {
    ("flock", errno.EAGAIN): _LOCKED,
    ("fcntl", errno.EAGAIN): _LOCKED,
    ("fcntl", errno.EACCES): _LOCKED,
    ("bind", errno.EADDRNOTAVAIL): (
        "this host has no such address, or not yet",
        "see whether it is missing, or tentative: ip address show",
    ),
    ("connect", errno.EADDRNOTAVAIL): (
        "no local port is free",
        "keep connections open and share them; how many there are: ss -s; of how many:"
        " sysctl net.ipv4.ip_local_port_range",
    ),
    ("inotify_init1", errno.EMFILE): (
        "the user has no inotify instance left",
        "raise fs.inotify.max_user_instances, or find who uses them up",
    ),
    ("inotify_add_watch", errno.ENOSPC): (
        "the user has no inotify watch left",
        "raise fs.inotify.max_user_watches, or find who uses them up",
    ),
}
# EAGAIN of what starts something: of what reads, writes or waits it is no failure, and is not recorded.
_BY_ERROR: Mapping[int, tuple[str, str]] = {
    errno.EAGAIN: (
        "a limit is reached, or nothing is free",
        "see the limits: prlimit --pid PID; pids.max of its cgroup",
    ),
    errno.EEXIST: (
        "it exists already",
        "find who made it and did not remove it: a process that still needs it, or one that has ended",
    ),
    errno.ENOENT: ("it does not exist", "find out who should make it"),
    errno.EACCES: ("no permission", "see owners and modes of all its directories: namei -l PATH"),
    errno.EPERM: ("not permitted", "see what it lacks: capabilities, seccomp, an immutable file"),
    errno.EADDRINUSE: ("the address is in use", "see by whom: ss -lntup"),
    errno.EMFILE: ("no descriptor is left to the process", "close what is not needed, or raise LimitNOFILE"),
    errno.ENFILE: ("no descriptor is left on this host", "sysctl fs.file-max; find who uses them up"),
    errno.ENOSPC: ("no space is left", "make room, or find who fills it: df -h; df -i"),
    errno.EDQUOT: ("the quota is used up", "make room, or raise the quota: quota -v"),
    errno.EROFS: ("the file system is read-only", "see why in the kernel's log: dmesg"),
    errno.EIO: ("an input/output error", "see which device in the kernel's log: dmesg"),
    errno.EBUSY: ("it is in use", "find by whom: fuser -vm PATH; lsof PATH"),
    errno.ETXTBSY: ("it runs, or is being written", "find by whom: fuser -v PATH"),
    errno.ENOMEM: ("no memory is left", "see limits of memory: memory.max of its cgroup, prlimit --pid PID"),
    errno.ECONNRESET: (
        "the peer ended the connection",
        "see the peer's log for why: a limit of connections (MaxStartups of sshd), a crash, or a firewall",
    ),
    errno.EPIPE: ("the peer has closed its end", "see the peer's log for why"),
    errno.ESTALE: ("the file is gone on its server", "mount it anew"),
}


def meaning_of(call: str, error: int) -> tuple[str, str]:
    """Return what an error of a call means, and what can be done; of others the words of the C library."""
    known = _BY_CALL.get((call, error)) or _BY_ERROR.get(error)
    traced = shlex.quote(f"trace={call}")
    return known or (os.strerror(error).lower(), f"see what it is called with: strace -f -Z -e {traced} -p PID")


STRICT = "vm/overcommit_memory", "2"  # a sysctl, and its value: memory is promised up to a limit only
PROMISE_MEMORY = frozenset({"brk", "clone", "clone3", "fork", "mmap", "mremap", "vfork"})
# ENOMEM where that is set: proc(5), and Documentation/mm/overcommit-accounting.rst.
NOT_PROMISED = (
    "no more memory may be promised, as vm.overcommit_memory is 2",
    "compare Committed_AS with CommitLimit in /proc/meminfo; raise vm.overcommit_ratio, add swap, or set"
    " vm.overcommit_memory to 0; who starts programs by vfork() or posix_spawn() asks for no copy of its memory",
)


def may_be_standby(call: str, error: int) -> bool:
    """Return whether a failure says that it is somebody else's turn: a standby meets it all along."""
    return error == errno.EEXIST or _BY_CALL.get((call, error)) == _LOCKED


def name_of(error: int) -> str:
    """Return "EEXIST", or the number of an error that this host does not know."""
    return errno.errorcode.get(error, f"error {error}")


# Who looks for something in several places, or until it is there, meets these without any harm, and so does who moves
# files between file systems, reads what turns out to be a directory, or sends what need not arrive, as to statsd.
_EXPECTED = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ESRCH, errno.EBADF, errno.EINVAL, errno.EXDEV}
    | {errno.EPIPE, errno.ECONNRESET, errno.ECONNREFUSED}
)
# Whoever makes sure that something is so, or takes what it can get, meets these: mkdir -p, an event loop (libuv) that
# adds a descriptor again, a copy that keeps owners, an agent that reads what it may of all processes, or asks all
# interfaces for their addresses, a reader that follows no link, a client that tries all families of addresses.
_EXPECTED_OF: Mapping[int, frozenset[str]] = {
    errno.EADDRNOTAVAIL: frozenset({"ioctl"}),
    errno.EAFNOSUPPORT: frozenset({"socket"}),
    errno.EAGAIN: frozenset({"ioctl"}),
    errno.EEXIST: frozenset({"mkdir", "mkdirat", "mknod", "mknodat", "epoll_ctl"}),
    errno.ELOOP: frozenset({"open", "openat", "openat2"}),
    errno.ENOTEMPTY: frozenset({"rmdir", "unlinkat"}),
}
_NEEDS_PERMISSION = frozenset({"execve", "execveat", "bind", "mount", "fcntl"})


def is_expected(call: str, error: int) -> bool:
    """Return whether an error of a call may do no harm, however often it comes."""
    if error in {errno.EPERM, errno.EACCES}:
        return call not in _NEEDS_PERMISSION
    return error in _EXPECTED or call in _EXPECTED_OF.get(error, ())
