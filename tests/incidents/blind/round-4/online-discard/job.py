"""A mail queue: removes what is delivered, here and there, and writes down safely that it is."""

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


COUNT, GONE = 8, 120
text = bytes(range(256)) * 16
for number in range(COUNT * GONE * 2):
    with open(f"mounted/{number}", "wb") as file:
        file.write(text)
os.sync()
deliver_ns = 0
with open("mounted/journal", "wb", buffering=0) as journal:
    began = wait_for_start()
    for turn in range(COUNT):
        zlib.compress(text * 32)
        begin = time.monotonic_ns()
        for number in range(GONE):
            os.unlink(f"mounted/{(turn * GONE + number) * 2}")
        journal.write(b"delivered %d\n" % turn)
        os.sync()
        deliver_ns += time.monotonic_ns() - begin
    tell(began, count=COUNT, deliver_ns=deliver_ns)
