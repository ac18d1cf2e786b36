"""Reads a file of the target in /proc again and again."""

import sys
import time

with open("pid") as file:
    pid = file.read().strip()
while True:
    try:
        with open(f"/proc/{pid}/{sys.argv[1]}", "rb", buffering=0) as file:
            while file.read(65536):
                pass
    except OSError:
        time.sleep(0.1)
    time.sleep(int(sys.argv[2]) / 1000)
