"""Operations that may never return, with a deadline: asking a file system whose server may be dead, a stuck process.

A child process does them, because one that waits in the kernel may not even be killed: it is left behind.
"""

import errno
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TypeVar

from perfdiag.common import privileges
from perfdiag.common.errors import PerfdiagError

T = TypeVar("T")
MESSAGE_BYTES = 1 << 16  # of one answer of a child
Receive = Callable[[float], tuple[bytes, list[int]]]


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped (SIGSTOP, a debugger)."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] in (b"T", b"t")
    except OSError:  # without /proc
        return False


class Child:
    """A process that does some work and sends its answers (none is empty, none above MESSAGE_BYTES) to a socket."""

    def __init__(self, work: Callable[[socket.socket], None]) -> None:
        self._answers, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ended = False
        self.pid = os.fork()
        if not self.pid:
            _do(work, there)
        there.close()

    def receive(self, until: float) -> tuple[bytes, list[int]]:
        """Return the next answer with its descriptors, b"" when the child has ended.

        Raises TimeoutError at the time given (monotonic, s).
        """
        if not select.select([self._answers], [], [], max(0.0, until - time.monotonic()))[0]:
            raise TimeoutError(errno.ETIMEDOUT, "no answer in time: is its file system alive?")
        try:
            answer, descriptors = self._receive()
        except ConnectionResetError:  # it ended before it read what it was told: that is told once, before its answers
            answer, descriptors = self._receive()
        self._ended = not answer
        return answer, descriptors

    def _receive(self) -> tuple[bytes, list[int]]:
        return socket.recv_fds(self._answers, MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)[:2]

    def tell(self, message: bytes) -> None:
        """Send it a message; an ended child is skipped."""
        with suppress(OSError):
            self._answers.send(message)

    def is_stopped(self) -> bool:
        """Whether it is stopped (SIGSTOP, a debugger)."""
        return is_stopped(self.pid)

    def end(self) -> None:
        """End it now; if it is stuck in the kernel, leave it behind."""
        os.kill(self.pid, signal.SIGKILL)
        self.leave()

    def leave(self) -> None:
        """Stop listening: it continues, and ends by itself."""
        self._answers.close()
        os.waitpid(self.pid, 0 if self._ended else os.WNOHANG)  # one that still runs is left to init


@contextmanager
def child(work: Callable[[socket.socket], None]) -> Iterator[Receive]:
    """Yield a Child to receive answers from; afterwards it is ended, or left behind in the kernel."""
    process = Child(work)
    try:
        yield process.receive
    finally:
        process.end()


def _do(work: Callable[[socket.socket], None], answers: socket.socket) -> NoReturn:
    try:
        kept = answers.fileno()
        os.closerange(0, kept)  # what a stuck child holds open would keep others waiting: pipes, the control socket
        os.closerange(kept + 1, kept + 1024)
        work(answers)
    finally:
        os._exit(0)


def read_bytes(path: Path, limit_bytes: int, deadline_s: float) -> bytes:
    """Return the content of `path`, which may be on a dead server, if the caller may read it.

    Raises the OSError of the read, FileNotFoundError also for a closed directory; TimeoutError after `deadline_s`;
    OSError (EFBIG) for more than `limit_bytes`.
    """

    def read(answers: socket.socket) -> None:
        """Answer with the error number (0: none), then with the content."""
        number, content = 0, b""
        try:
            privileges.become_caller()
            with open(path, "rb", buffering=0) as file:
                while part := file.read(limit_bytes + 1 - len(content)):
                    content += part
            if len(content) > limit_bytes:
                number, content = errno.EFBIG, b""
        except PermissionError:
            number, content = errno.EACCES if os.access(path.parent, os.X_OK) else errno.ENOENT, b""
        except OSError as error:
            number, content = error.errno or errno.EIO, b""
        except PerfdiagError:  # root cannot be given up, as the command says itself: there is nobody who may read it
            number, content = errno.ENOENT, b""
        answers.send(str(number).encode())
        for start in range(0, len(content), MESSAGE_BYTES):
            answers.send(content[start : start + MESSAGE_BYTES])

    end = time.monotonic() + deadline_s
    with child(read) as receive:
        number = int(receive(end)[0] or errno.EIO)
        content = b""
        while part := receive(end)[0]:
            content += part
    if number:
        raise OSError(number, os.strerror(number))
    return content


def which(
    candidates: Iterable[T], test: Callable[[T], bool], silence_s: float, deadline_s: float
) -> tuple[list[T], list[T]]:
    """Return the items that pass a test, and those whose test did not end in `silence_s` (all together:
    `deadline_s`)."""
    left, passed, silent = list(candidates), list[T](), list[T]()
    end = time.monotonic() + deadline_s

    def work(answers: socket.socket) -> None:
        for candidate in left:
            answers.send(b"y" if test(candidate) else b"n")

    while left and time.monotonic() < end:
        with child(work) as receive:
            try:
                while left and (answer := receive(min(end, time.monotonic() + silence_s))[0]):
                    passed += [left[0]] * (answer == b"y")
                    del left[0]
            except TimeoutError:
                pass
        silent += left[:1]  # on which the child hangs, or ended
        del left[:1]
    return passed, silent + left
