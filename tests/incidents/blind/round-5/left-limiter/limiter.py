"""Limits how much of a CPU a process uses: stops it for a part of each 100 ms, if that is not 0."""

import os
import signal
import sys
import time

PERIOD_MS = 100
pid, stopped = int(sys.argv[1]), int(sys.argv[2])
until = time.monotonic() + 90
try:
    while time.monotonic() < until:
        with open(f"/proc/{pid}/stat") as file:
            file.read()
        if stopped:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(stopped / 1000)
            os.kill(pid, signal.SIGCONT)
        time.sleep((PERIOD_MS - stopped) / 1000)
except OSError:
    pass  # it has ended
