"""So many processes that sleep; the last is the worker: neighbours.py COUNT."""

import os
import signal
import sys

for _ in range(int(sys.argv[1])):
    if not (child := os.fork()):
        signal.pause()
with open("worker.pid.new", "w") as file:
    file.write(str(child))
os.rename("worker.pid.new", "worker.pid")
signal.pause()
