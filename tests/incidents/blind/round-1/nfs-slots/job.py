"""Indexes texts with sixteen threads."""

import json
import os
import select
import sys
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


THREADS, TEXTS = 16, 320
gate = threading.Event()
spent_ns = [0] * THREADS


def work(number):
    gate.wait()
    for text in range(1 + number, 1 + TEXTS, THREADS):
        begin = time.monotonic_ns()
        with open(f"{sys.argv[1]}/texts/{text}", "rb") as file:
            data = file.read()
        spent_ns[number] += time.monotonic_ns() - begin
        zlib.compress(data * 300)


threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
began = wait_for_start()
gate.set()
for thread in threads:
    thread.join()
tell(began, count=TEXTS, threads=THREADS, read_ns=sum(spent_ns))
