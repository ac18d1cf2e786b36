"""Rewrites parts of its data, makes all of it safe, and takes a snapshot."""

import fcntl
import json
import os
import random
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


COUNT, FILES, SIZE, BLOCK, SNAP_CREATE = 10, 60, 1 << 18, 4096, 0x50009401
text = os.urandom(BLOCK)
random.seed(3)
data = os.open("mounted/data", os.O_RDONLY)
above = os.open("mounted", os.O_RDONLY)
sync_ns = 0
began = wait_for_start()
for turn in range(COUNT):
    zlib.compress(text * 16)
    for number in range(FILES):
        with open(f"mounted/data/{number}", "r+b") as file:
            for _ in range(8):
                file.seek(random.randrange(SIZE // BLOCK) * BLOCK)
                file.write(text)
    begin = time.monotonic_ns()
    os.sync()
    name = (b"turn-%d" % turn).ljust(4088, b"\0")
    fcntl.ioctl(above, SNAP_CREATE, bytearray(data.to_bytes(8, "little") + name))
    sync_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, sync_ns=sync_ns)
