"""upgrades.py LOCK HELD FREE: holds a lock of dpkg for so many milliseconds, again and again, as upgrades do."""

import fcntl
import sys
import time

with open(sys.argv[1], "w") as lock:
    while True:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        time.sleep(int(sys.argv[2]) / 1000)
        fcntl.lockf(lock, fcntl.LOCK_UN)
        time.sleep(int(sys.argv[3]) / 1000)
