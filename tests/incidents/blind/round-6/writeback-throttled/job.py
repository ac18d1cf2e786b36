"""Saves a table: changes pages here and there, then has them written."""

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


COUNT, PIECE, PAGES = 14, 4096, 15_000
device = os.open("/dev/array", os.O_RDWR)
choose = random.Random(5)
text = bytes(range(256)) * 16
save_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    for page in choose.sample(range(PAGES), 100):
        os.pwrite(device, text, page * PIECE)
    zlib.compress(text * 8)
    begin = time.monotonic_ns()
    os.fdatasync(device)
    save_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, save_ns=save_ns)
