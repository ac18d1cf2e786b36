"""Reads pages of a database here and there, in 16 threads."""

import json
import mmap
import os
import random
import select
import threading
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


COUNT, THREADS, PAGE, SIZE = 75, 16, 4096, 64 << 20
text = bytes(range(256)) * 64


def read(disk, number):
    """As a server of 16 clients."""
    chosen = random.Random(number)
    page = mmap.mmap(-1, PAGE)
    zlib.compress(text)
    for _ in range(COUNT):
        os.preadv(disk, [page], chosen.randrange(SIZE // PAGE) * PAGE)


with open("disk") as file:
    disk = os.open(f"/dev/{file.read().strip()}", os.O_RDONLY | os.O_DIRECT)
threads = [threading.Thread(target=read, args=(disk, number)) for number in range(THREADS)]
began = wait_for_start()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
tell(began, count=COUNT * THREADS)
