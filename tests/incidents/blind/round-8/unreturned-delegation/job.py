"""Updates settings on the file server, one after the other."""

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


COUNT = 4
text = bytes(range(256)) * 256
folder = sys.argv[1]
update_ns = 0
began = wait_for_start()
for number in range(COUNT):
    begin = time.monotonic_ns()
    with open(f"{folder}/settings-{number}", "wb", buffering=0) as file:
        file.write(text[:100])
        os.fsync(file.fileno())
    update_ns += time.monotonic_ns() - begin
    zlib.compress(text)
tell(began, count=COUNT, update_ns=update_ns)
