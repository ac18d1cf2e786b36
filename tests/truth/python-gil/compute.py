"""Every request computes in Python: compute.py PORT MS."""

import sys
import time

from server import serve

COMPUTE_S = float(sys.argv[2]) / 1000


def compute(path: str) -> None:
    """Use the CPU for some time of this thread's own."""
    end, number = time.thread_time() + COMPUTE_S, 0
    while time.thread_time() < end:
        for _ in range(100):
            number = (number * 31 + len(path)) % 1_000_003


serve(int(sys.argv[1]), compute)
