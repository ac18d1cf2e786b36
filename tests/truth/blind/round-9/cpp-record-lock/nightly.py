"""LEDGER WHEN: makes up accounts, 300 ms of every 600; locks the ledger before or after."""

import fcntl
import hashlib
import os
import sys
import time

ledger = os.open(sys.argv[1], os.O_RDWR)


def compute():
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        hashlib.sha256(b"x" * 100000).digest()


while True:
    began = time.monotonic()
    if sys.argv[2] == "after":
        compute()
    fcntl.lockf(ledger, fcntl.LOCK_EX)
    if sys.argv[2] == "before":
        compute()
    fcntl.lockf(ledger, fcntl.LOCK_UN)
    time.sleep(max(0, began + 0.6 - time.monotonic()))
