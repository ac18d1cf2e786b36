"""The child process that opens a recording's file and writes it, and may hang if the file system is dead.

It runs as the caller: a path leads nowhere the caller may not go, whatever is exchanged meanwhile.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import secrets
import select
import signal
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from perfdiag.common import privileges
from perfdiag.common.errors import HINTS, PerfdiagError
from perfdiag.common.text import printable

FOOTER_BYTES = 1 << 16  # a footer is far shorter
PART_BYTES = 1 << 16
PIPE_BYTES = 1 << 20  # what the recorder can write while a file system pauses, without a pause of its own
ELSEWHERE = "give another file, on a file system with room: /dev/shm is in memory"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


BEGIN = b"begin"  # told to a keeper once there is something to record: until then the file stays as it was
_NOTHING: dict[str, Any] = dict.fromkeys(("size", "replaced", "complete", "meddled", "moved", "error", "hint"))
READING, WRITING, CLOSING = range(3)  # what a keeper may wait for: the recorder, or twice its file system


class Progress(ctypes.Structure):
    """How far the writer is, in shared memory: a process that hangs in the kernel answers nothing."""

    size_bytes: int
    doing: int
    _fields_ = [("size_bytes", ctypes.c_uint64), ("doing", ctypes.c_uint64)]

    @classmethod
    def shared(cls) -> Progress:
        """Return a Progress for this process and the children it starts from now on."""
        return cls.from_buffer(mmap.mmap(-1, mmap.PAGESIZE))


def keep(path: str, progress: Progress, answers: socket.socket, *, whole: bool = False) -> None:
    """Answer with a pipe, write its content into the file once told to, and report the result.

    A file that was created for it and stayed empty is removed. With `whole`, an older file is replaced by a whole one,
    or stays as it was.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a terminal sends them to all: the pipe's end counts
        signal.signal(number, signal.SIG_IGN)
    try:
        privileges.become_caller()
        directory, fd, created = _open(path)
    except PerfdiagError as error:
        answers.send(json.dumps({"message": str(error), "hint": error.hint}).encode())
        return
    status, place = os.fstat(fd), _place_of(fd)
    reader, writer = os.pipe()
    with suppress(OSError):  # then it keeps its 64 KiB
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    told = {"created": created, "device": status.st_dev, "inode": status.st_ino}
    socket.send_fds(answers, [json.dumps(told).encode()], [writer])
    os.close(writer)
    # What came through the pipe for a recording that did not come about is no reason to empty an old one.
    went = _NOTHING
    if _is_told_to_begin(answers, reader):
        write = partial(_write, reader, progress=progress, moved_to=lambda: _moved_to(path, fd, place))
        old_stays = whole and not created
        went = _write_aside(os.path.basename(path), directory, fd, write) if old_stays else write(fd)
    if created and not went["size"]:
        unlink(os.path.basename(path), (status.st_dev, status.st_ino), directory)
    answers.send(json.dumps(went).encode())


def _write_aside(name: str, directory: int, old: int, write: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Write a file beside an older one, and put it into that one's place if it is whole; where nothing can be created
    beside it, write into the older one."""
    aside, flags = f".perfdiag-{secrets.token_hex(8)}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        fd = os.open(aside, flags, 0o600, dir_fd=directory)
    except PermissionError:
        return write(old)
    except OSError as error:
        return {**_NOTHING, "error": error.strerror, "hint": _remedy(error), "kept": True}
    went = write(fd, aside=True)
    whole = bool(went["size"]) and not (went["error"] or went["meddled"] or went["moved"])
    try:
        if whole:
            os.rename(aside, name, src_dir_fd=directory, dst_dir_fd=directory)
        else:
            os.unlink(aside, dir_fd=directory)
    except OSError as error:
        return {**went, "error": error.strerror, "kept": True}
    return {**went, "kept": not whole}


def _is_told_to_begin(answers: socket.socket, reader: int) -> bool:
    """Wait for the order; return whether it came before the other side, or the writer to the pipe, ended."""
    poll = select.poll()
    poll.register(answers, select.POLLIN)
    poll.register(reader, 0)  # its end only: what is in it can wait
    poll.poll()
    try:
        return answers.recv(len(BEGIN), socket.MSG_DONTWAIT) == BEGIN
    except OSError:
        return False


def _write(
    reader: int, fd: int, progress: Progress, moved_to: Callable[[], str | None], *, aside: bool = False
) -> dict[str, Any]:
    """Copy until the end of the pipe; if the file is full, remove the last half line. Of a file `aside`, root is not
    given up: its directory may be root's, and the file has still to take its place there."""
    size = lines_bytes = replaced = 0
    tail, failure, meddled, moved = b"", OSError(), None, None
    try:
        while part := os.read(reader, PART_BYTES):
            progress.doing = WRITING
            if not size:
                privileges.set_aside()  # not given up: with no line written, root may be needed to take back the file
                replaced = os.fstat(fd).st_size
                os.ftruncate(fd, 0)  # not before: a recording that does not come about leaves the one that was there
            while part:
                count = os.write(fd, part)
                tail = (tail + part[:count])[-FOOTER_BYTES:]
                if (newline := part.rfind(b"\n", 0, count)) >= 0:
                    lines_bytes = size + newline + 1
                size += count
                progress.size_bytes = size
                part = part[count:]
            if lines_bytes and not aside:
                privileges.take_up()
                privileges.drop()
            progress.doing = READING
        progress.doing = CLOSING  # from here on: on NFS even fstat() waits until all is at the server
        meddled = _meddled_with(fd, size)
        moved = None if meddled else moved_to()
        os.close(fd)  # some file systems tell only here that a write has failed
    except OSError as error:
        failure = error
        with suppress(OSError):
            os.ftruncate(fd, lines_bytes)
            size = lines_bytes
            moved = moved_to()
    privileges.take_up()
    last_line = tail.rstrip(b"\n").rpartition(b"\n")[2]
    complete = not failure.errno and tail.endswith(b"\n") and b'"footer"' in last_line
    told = {"error": failure.strerror, "hint": _remedy(failure) if failure.errno else None}
    return {"size": size, "replaced": replaced, "complete": complete, "meddled": meddled, "moved": moved, **told}


def _remedy(error: OSError) -> str:
    """Return the remedy for a file that cannot grow."""
    return HINTS[errno.EFBIG] if error.errno == errno.EFBIG else ELSEWHERE


def _meddled_with(fd: int, size: int) -> str | None:
    """Return what another process did to the file meanwhile."""
    status = os.fstat(fd)
    if not status.st_nlink:
        return "it was removed or replaced meanwhile"
    return None if not size or status.st_size == size else "another process wrote to it meanwhile"


def _place_of(fd: int) -> str:
    """Return the path of an open file as it is now."""
    return os.readlink(f"/proc/self/fd/{fd}")


def _moved_to(path: str, fd: int, before: str) -> str | None:
    """Return where the file is now, if its path, which led to `before`, does not lead there any more."""
    now = _place_of(fd)
    try:
        there = os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        there = False
    except OSError:  # root is given up: a directory on the way may be closed
        there = now == before
    return None if there else now


def unlink(path: str, identity: tuple[int, int], directory: int | None = None) -> None:
    """Remove the file of that device and inode, not another one that has its name now."""
    with suppress(OSError):  # root is given up already, and the directory is root's: an empty file stays
        status = os.stat(path, dir_fd=directory, follow_symlinks=False)
        if (status.st_dev, status.st_ino) == identity:
            os.unlink(path, dir_fd=directory)


def _open(path: str) -> tuple[int, int, bool]:
    """Open its directory and the file; return both and whether it was created.  Hangs where its file system is dead."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    name = os.path.basename(path)
    try:
        # Held, because to take the file back its path may lead elsewhere by then.
        directory = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fd, created = os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory), True
        except FileExistsError:
            fd, created = os.open(name, flags, dir_fd=directory), False
            _check_own(path, fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # whoever has it may empty it
            os.fchmod(fd, 0o600)
        except OSError:
            if created:
                os.unlink(name, dir_fd=directory)
            raise
    except BlockingIOError as error:
        raise PerfdiagError(
            f"cannot write {printable(path)}: another perfdiag writes it", "give another file"
        ) from error
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise PerfdiagError(f"cannot write {printable(path)}: {why}", _hint(error)) from error
    return directory, fd, created


def _hint(error: OSError) -> str:
    if error.errno in _NO_ROOM:
        return ELSEWHERE
    if isinstance(error, PermissionError) and os.geteuid():
        return "the file is created with your own rights, also under sudo: give a path where you may write"
    return "give another file"


def _check_own(path: str, fd: int) -> None:
    """Refuse to overwrite anything but a recording file of the caller."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        what = "is not an ordinary file"
    elif status.st_nlink != 1:
        what = f"has {status.st_nlink} names (hard links)" if status.st_nlink else "was removed"
    elif status.st_uid != os.geteuid():
        what = "belongs to another user"
    else:
        return
    raise PerfdiagError(f"will not overwrite {printable(path)}: it {what}", "give another file")
