"""fdlimit.bt: each call that is refused is counted, by its name and errno, with the limit that it met."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import socket
from collections.abc import Callable, Iterator

from live.support.fixtures import Start, Trace

LIMIT = 64
ATTEMPTS = 100
SHOWN = "tracepoint:syscalls:sys_exit_"


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[None]:
    """This process may have fewer descriptors than it has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_opens_beyond_the_limit(start: Start, trace: Trace) -> None:
    leak = start("fd_leak", "--limit", LIMIT, "--attempts", ATTEMPTS)
    script = trace("fdlimit", leak)
    truth = leak.run()
    seen = script.stop(example=True)
    assert truth["refused"] > ATTEMPTS - LIMIT, "no call was refused: nothing was tested"
    assert seen.number("@refused", "fd_leak", str(leak.pid), "24", f"{SHOWN}openat") == truth["refused"]
    assert seen.sums("@limit") == {str(leak.pid): LIMIT}


def test_every_way_to_a_descriptor(trace: Trace) -> None:
    """Each of them twice, while the limit is 3."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        calls: dict[str, Callable[[], object]] = {
            "accept4": listener.accept,
            "epoll_create1": select.epoll,
            "eventfd2": lambda: os.eventfd(0),
            "fcntl": lambda: fcntl.fcntl(0, fcntl.F_DUPFD, 0),
            "memfd_create": lambda: os.memfd_create("name"),
            "openat": lambda: os.open("/dev/null", os.O_RDONLY),
            "pidfd_open": lambda: os.pidfd_open(os.getpid()),
            "pipe2": os.pipe,
            "socket": socket.socket,
            "socketpair": socket.socketpair,
        }
        script = trace("fdlimit", os.getpid())
        with no_descriptor_left():
            for call in [*calls.values(), *calls.values()]:
                with contextlib.suppress(OSError):
                    call()
    seen = script.stop()
    refused = {key[3].removeprefix(SHOWN): value for key, value in seen.maps["@refused"].items() if key[2] == "24"}
    assert refused == dict.fromkeys(calls, 2)
    assert seen.sums("@limit") == {str(os.getpid()): 3}


def test_others_are_not_traced(start: Start, trace: Trace) -> None:
    script = trace("fdlimit", start("sleeper"))
    start("fd_leak", "--limit", LIMIT, "--attempts", ATTEMPTS).run()
    assert not script.stop().maps
