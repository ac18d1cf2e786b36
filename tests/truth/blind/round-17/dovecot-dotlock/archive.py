"""archive.py LOCK HELD FREE: makes the lock file of a mailbox for so many milliseconds, again and again."""

import os
import sys
import time

name, held_s, free_s = sys.argv[1], int(sys.argv[2]) / 1000, int(sys.argv[3]) / 1000
while True:
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError:  # somebody else has it, or there is no mailbox yet
        time.sleep(0.005)
        continue
    time.sleep(held_s)
    os.unlink(name)
    time.sleep(free_s)
