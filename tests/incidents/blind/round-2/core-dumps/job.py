"""Starts workers, one after the other; every fourth crashes."""

import json
import mmap
import os
import select
import sys
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


COUNT, HEAP = 12, 48 << 20
text = bytes(range(256)) * 256
wait_ns = crashed = 0
began = wait_for_start()
for number in range(COUNT):
    for _ in range(20):
        zlib.compress(text)
    sys.stdout.flush()
    worker = os.fork()
    if worker == 0:
        heap = mmap.mmap(-1, HEAP, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for at in range(0, HEAP, 4096):
            heap[at : at + 8] = at.to_bytes(8, "little")
        if number % 4 == 3:
            os.abort()
        os._exit(0)
    begin = time.monotonic_ns()
    crashed += os.WIFSIGNALED(os.waitpid(worker, 0)[1])
    wait_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, crashed=crashed, wait_ns=wait_ns)
