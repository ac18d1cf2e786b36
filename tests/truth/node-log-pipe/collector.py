"""Reads a log from a pipe, and once a second does something else for so many milliseconds."""

import os
import sys
import time

log, busy_ms = os.open(sys.argv[1], os.O_RDONLY), int(sys.argv[2])
until = time.monotonic()
while os.read(log, 65536):
    if time.monotonic() >= until:
        time.sleep(busy_ms / 1000)
        until = time.monotonic() + 1 - busy_ms / 1000
