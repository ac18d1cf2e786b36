"""BYTES: passes on what it reads, as a logging driver does that gets rid of so many bytes a second."""

import os
import sys
import time

rate = int(sys.argv[1])
while data := os.read(0, 65536 if rate > 65536 else 4096):
    time.sleep(len(data) / rate)
