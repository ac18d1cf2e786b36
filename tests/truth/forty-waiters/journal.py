"""One journal that every request makes safe, under one lock: journal.py PORT FILE."""

import os
import sys
import threading

from server import serve

JOURNAL = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)
LOCK = threading.Lock()


def note(path: str) -> None:
    """Write down what was asked for."""
    with LOCK:
        os.pwrite(JOURNAL, path.encode().ljust(512), 0)
        os.fdatasync(JOURNAL)


serve(int(sys.argv[1]), note)
