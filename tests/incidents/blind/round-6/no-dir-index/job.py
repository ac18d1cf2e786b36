"""Delivers mail: writes each under a name of its own, then gives it the name that readers look for."""

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


COUNT = 180
text = bytes(range(256)) * 64
deliver_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    name = f"spool/{'m' * 80}-new-{number}"
    with open(name + ".tmp", "wb") as file:
        file.write(text)
    os.rename(name + ".tmp", name)
    deliver_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, deliver_ns=deliver_ns)
