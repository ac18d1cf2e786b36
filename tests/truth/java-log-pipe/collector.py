"""Reads a log from a pipe, so many KiB a second."""

import os
import sys
import time

log, kib_a_second = os.open(sys.argv[1], os.O_RDONLY), int(sys.argv[2])
while piece := os.read(log, 4096):
    time.sleep(len(piece) / 1024 / kib_a_second)
