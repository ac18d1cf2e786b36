"""Plays out frames: each is due 20 ms after the last one, by the clock on the wall."""

import ctypes
import json
import os
import select
import time
import zlib


def wait_for_start():
    """Say that all is prepared, and wait for the recorder: with two descriptors, as for events."""
    print('{"ready": true}', flush=True)
    nothing, other = os.pipe()
    poll = select.poll()
    for fd in (0, nothing):
        poll.register(fd, select.POLLIN)
    poll.poll()
    os.read(0, 1)
    os.close(nothing)
    os.close(other)
    return time.monotonic_ns()


def tell(began, **truth):
    print(json.dumps({"elapsed_ns": time.monotonic_ns() - began, **truth}), flush=True)


COUNT, STEP = 100, 20_000_000


class Moment(ctypes.Structure):
    """A struct timespec."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


libc = ctypes.CDLL(None)
text = bytes(range(256)) * 64
slept_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    due = time.clock_gettime_ns(time.CLOCK_REALTIME) + STEP
    zlib.compress(text)
    begin = time.monotonic_ns()
    libc.clock_nanosleep(time.CLOCK_REALTIME, 1, ctypes.byref(Moment(*divmod(due, 1_000_000_000))), None)
    slept_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, slept_ns=slept_ns)
