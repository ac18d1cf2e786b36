"""Computes for so many milliseconds of each 500, and sleeps for the rest."""

import sys
import time

HOG_S = int(sys.argv[1]) / 1000
while True:
    until = time.monotonic() + HOG_S
    while time.monotonic() < until:
        pass
    time.sleep(0.5 - HOG_S)
