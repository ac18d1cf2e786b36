"""Reloads a worker again and again: looks for it by its name, then makes its configuration."""

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


COUNT = 12
text = bytes(range(256)) * 1024


def find(name):
    """Processes of that name."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    if name in file.read():
                        found.append(int(entry))
            except OSError:
                continue
    return found


find_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    find("(worker)")
    find_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, find_ns=find_ns)
