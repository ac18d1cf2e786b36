"""Find the processes that listen on a port: the sockets of every network namespace, and the descriptors that hold
them."""

import os
from collections.abc import Iterable

from perfdiag.capture.processes import Process
from perfdiag.common import deadline
from perfdiag.common.by_key import groups_by_key
from perfdiag.common.errors import TargetGone

SILENCE_S, DEADLINE_S = 0.3, 1.5  # what one process, and all of them, get to show their descriptors

# The state a bound, waiting socket has in the tables of /proc/net: TCP_LISTEN, and TCP_CLOSE for unconnected UDP.
TABLES = (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07"))


def listeners(port: int, processes: Iterable[Process]) -> list[Process]:
    """Return the processes that hold a socket listening on `port`: TCP before UDP, our network namespace before others.

    `processes` are the candidates; those that may not be read (without root) are left out. Raises TargetGone if the
    socket exists but its possible holders do not answer.
    """
    by_namespace = groups_by_key((_namespace(process.pid), process) for process in processes)
    own = _namespace("self")
    silent: list[Process] = []
    for tables in (TABLES[:2], TABLES[2:]):
        elsewhere: list[Process] = []
        for namespace, members in sorted(by_namespace.items(), key=lambda item: item[0] != own):
            inodes = _inodes(port, members[0].pid if namespace != own else "self", tables)
            found, untold = _holders(inodes, members) if inodes else ([], [])
            if found and namespace == own:
                return found
            elsewhere += found
            silent += untold
        if elsewhere:
            return elsewhere
    if silent:
        raise TargetGone(
            f"--port {port}: the process that listens there did not show its descriptors",
            f"{silent[0]} did not answer, because it is stuck or the host is too busy: if it is the one, --pid"
            f" {silent[0].pid}",
        )
    return []


def _namespace(pid: int | str) -> int:
    """Return a number of the network namespace of a process, 0 if it is gone: the inode number of a table there. The
    link ns/net would wait for an exec to finish."""
    try:
        return os.stat(f"/proc/{pid}/net/tcp").st_ino
    except OSError:
        return 0


def _inodes(port: int, pid: int | str, tables: Iterable[tuple[str, str]]) -> set[str]:
    """Return the inode numbers of the sockets that wait on `port` in the network namespace of a process."""
    found = set()
    for table, state in tables:
        try:
            with open(f"/proc/{pid}/net/{table}", encoding="ascii", errors="replace") as file:
                rows = [line.split() for line in file.readlines()[1:]]
        except OSError:
            continue
        # columns: number, local address:port in hexadecimal, remote, state, ..., inode (the tenth)
        found |= {row[9] for row in rows if row[3] == state and int(row[1].rpartition(":")[2], 16) == port}
    return found


def _holders(inodes: set[str], members: Iterable[Process]) -> tuple[list[Process], list[Process]]:
    """Return the processes with a descriptor of one of the sockets, and those that do not answer. Init counts only if
    it is the only one (socket activation)."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    asked = sorted(members, key=lambda process: process.state == "D")  # one that is stuck keeps nobody waiting
    found, silent = deadline.which(asked, lambda process: _holds(process.pid, wanted), SILENCE_S, DEADLINE_S)
    return [process for process in found if process.pid != 1] or found, silent


def _holds(pid: int, wanted: set[str]) -> bool:
    """Return whether a descriptor of a process points to one of `wanted`; never returns for a process stuck in its
    exec."""
    try:
        return any(_link(f"/proc/{pid}/fd/{name}") in wanted for name in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def _link(path: str) -> str:
    """Return the destination of a symbolic link, "" when it is gone or may not be seen."""
    try:
        return os.readlink(path)
    except OSError:
        return ""
