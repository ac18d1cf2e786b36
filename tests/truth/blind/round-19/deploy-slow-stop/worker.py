"""worker.py sleep|event FILE: looks for work every minute, until it is told to stop; makes the file when it is up."""

import signal
import sys
import threading
import time
from pathlib import Path

PAUSE_S = 60
stop = threading.Event()


def work() -> None:
    """Look for work, and wait for the next turn."""
    while not stop.is_set():
        if sys.argv[1] == "event":
            stop.wait(PAUSE_S)
        else:
            time.sleep(PAUSE_S)


signal.signal(signal.SIGTERM, lambda *_: stop.set())
worker = threading.Thread(target=work)
worker.start()
Path(sys.argv[2]).touch()
while worker.is_alive():
    worker.join(0.05)
