"""Reads pages of a database, many at once; one after the other, where the kernel refuses that, as InnoDB does."""

import ctypes
import json
import mmap
import os
import random
import select
import struct
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


SETUP, GETEVENTS, SUBMIT = 206, 208, 209
COUNT, BATCH, PAGE, SIZE = 20, 32, 4096, 64 << 20
libc = ctypes.CDLL(None, use_errno=True)


class Asynchronous:
    """Reads that are under way at once."""

    def __init__(self, disk):
        self.disk, self.context = disk, ctypes.c_ulong()
        if libc.syscall(SETUP, 256, ctypes.byref(self.context)):
            raise OSError(ctypes.get_errno(), "io_setup")
        self.room = mmap.mmap(-1, BATCH * PAGE)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.room))

    def read(self, offsets):
        blocks = b"".join(
            struct.pack("QIIHhIQQqQII", 0, 0, 0, 0, 0, self.disk, self.start + number * PAGE, PAGE, offset, 0, 0, 0)
            for number, offset in enumerate(offsets)
        )
        kept = ctypes.create_string_buffer(blocks)
        first, size = ctypes.addressof(kept), len(blocks) // len(offsets)
        pointers = (ctypes.c_ulong * len(offsets))(*(first + number * size for number in range(len(offsets))))
        events = ctypes.create_string_buffer(32 * len(offsets))
        if libc.syscall(SUBMIT, self.context, len(offsets), pointers) != len(offsets):
            raise OSError(ctypes.get_errno(), "io_submit")
        if libc.syscall(GETEVENTS, self.context, len(offsets), len(offsets), events, None) != len(offsets):
            raise OSError(ctypes.get_errno(), "io_getevents")


class Simulated:
    """Reads that follow one another."""

    def __init__(self, disk):
        self.disk, self.room = disk, mmap.mmap(-1, PAGE)

    def read(self, offsets):
        for offset in offsets:
            os.preadv(self.disk, [self.room], offset)


def reader(disk):
    try:
        return Asynchronous(disk)
    except BlockingIOError:
        return Simulated(disk)


text = bytes(range(256)) * 512
random.seed(3)
disk = os.open("/dev/mapper/aio-slow", os.O_RDONLY | os.O_DIRECT)
how = None
simulated = read_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    how = how if isinstance(how, Asynchronous) else reader(disk)  # it may have become possible
    how.read([random.randrange(SIZE // PAGE) * PAGE for _ in range(BATCH)])
    simulated += isinstance(how, Simulated)
    read_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, simulated=simulated, read_ns=read_ns)
