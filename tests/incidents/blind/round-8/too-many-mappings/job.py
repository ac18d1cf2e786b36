"""Has the pieces of an index mapped, and maps new ones; one that cannot be mapped is read instead."""

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


PIECES, COUNT, TRIES, PAUSE, PAGE = 66_000, 4, 4, 0.5, 4096
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
FAILED = ctypes.c_void_p(-1).value
file = os.open("index", os.O_RDWR | os.O_CREAT)
os.truncate(file, PAGE * (COUNT + 1))


def map_piece(number):
    """Map a page of the index, readable or writable in turn, so that neighbours stay apart."""
    return libc.mmap(None, PAGE, 3 if number % 2 else 1, 1, file, PAGE * (number % 2))


for number in range(PIECES):
    if map_piece(number) == FAILED:
        break
text = bytes(range(256)) * 256
open_ns = failed = 0
began = wait_for_start()
for number in range(COUNT):
    begin = time.monotonic_ns()
    for _ in range(TRIES):
        if map_piece(number) != FAILED:
            break
        failed += 1
        time.sleep(PAUSE)
    else:
        os.pread(file, PAGE, PAGE)
    open_ns += time.monotonic_ns() - begin
    for _ in range(50):
        zlib.crc32(text)
tell(began, count=COUNT, failed=failed, open_ns=open_ns)
