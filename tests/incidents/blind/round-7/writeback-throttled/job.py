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


COUNT, WARM, PIECE, PAGES = 8, 12, 4096, 15_000
device = os.open("/dev/array", os.O_RDWR)
choose = random.Random(5)
text = bytes(range(256)) * 16


def save():
    """Change a hundred pages, and have them written; return how long the latter took."""
    for page in choose.sample(range(PAGES), 100):
        os.pwrite(device, text, page * PIECE)
    zlib.compress(text * 8)
    begin = time.monotonic_ns()
    os.fdatasync(device)
    return time.monotonic_ns() - begin


for _ in range(WARM):
    save()
save_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    save_ns += save()
tell(began, count=COUNT, save_ns=save_ns)
