"""Computes 35 ms for each request."""

import os
import time

if os.environ["BOUND"] == "1":  # as OpenBLAS does it when it was built with affinity
    os.sched_setaffinity(0, {0})


def application(_, start):
    until, total = time.thread_time() + 0.035, 0
    while time.thread_time() < until:
        total += sum(range(100))
    start("200 OK", [("Content-Length", "3")])
    return [b"ok\n"]
