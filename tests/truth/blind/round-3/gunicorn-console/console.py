"""FILE BYTES: makes a terminal, writes its name into the file, and reads so many bytes a second of what comes."""

import os
import pathlib
import pty
import sys
import time

ours, theirs = pty.openpty()
pathlib.Path(sys.argv[1]).write_text(os.ttyname(theirs))
rate = int(sys.argv[2])
began, taken = time.monotonic(), 0
while True:
    due = int((time.monotonic() - began) * rate) - taken
    if due > 0:
        taken += len(os.read(ours, min(due, 4096)))
        began = max(began, time.monotonic() - taken / rate - 0.2)  # what was not there to be read is not caught up with
    time.sleep(0.02)
