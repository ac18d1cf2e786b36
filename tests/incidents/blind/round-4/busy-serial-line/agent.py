"""Writes its log to the serial line: as many lines each second as it is told, or as go through."""

import os
import sys
import time

lines = int(sys.argv[1])
line = os.open("/dev/ttyS0", os.O_WRONLY | os.O_NOCTTY)
text = b"agent: all is well, as it was a moment ago, and there is nothing to do now\r\n"
print(os.getpid(), flush=True)
while True:
    begin = time.monotonic()
    for _ in range(lines):
        os.write(line, text)
    time.sleep(max(0, begin + 1 - time.monotonic()))
