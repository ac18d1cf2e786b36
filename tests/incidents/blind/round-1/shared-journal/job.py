"""Books orders, each of which is safe before the next one."""

import json
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


COUNT = 30
text = bytes(range(256)) * 16
sync_ns = worst_ns = 0
orders = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
began = wait_for_start()
for _ in range(COUNT):
    for _ in range(60):
        order = zlib.compress(text, 1)
    begin = time.monotonic_ns()
    os.write(orders, order)
    os.fsync(orders)
    spent = time.monotonic_ns() - begin
    sync_ns += spent
    worst_ns = max(worst_ns, spent)
tell(began, count=COUNT, sync_ns=sync_ns, worst_ns=worst_ns)
