"""FIFO MILLISECONDS: reads for a second, and not for so long, in turn."""

import os
import sys
import time

pipe = os.open(sys.argv[1], os.O_RDONLY)
pause = int(sys.argv[2]) / 1000
begin = time.monotonic()
while os.read(pipe, 65536):
    if pause and time.monotonic() - begin > 1:
        time.sleep(pause)
        begin = time.monotonic()
