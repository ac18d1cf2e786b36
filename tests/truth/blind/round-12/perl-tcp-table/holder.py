"""holder.py COUNT FILE: four processes that hold so many connections together; makes the file when they are there."""

import os
import pathlib
import resource
import socket
import sys
import time

PROCESSES = 4
count = int(sys.argv[1]) // PROCESSES
children = []
for _ in range(PROCESSES - 1):
    if not (child := os.fork()):
        children.clear()
        break
    children.append(child)
resource.setrlimit(resource.RLIMIT_NOFILE, (2 * count + 100, 2 * count + 100))
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
held = []
for _ in range(count):
    held.append(socket.create_connection(listener.getsockname()))
    held.append(listener.accept()[0])
there = pathlib.Path(sys.argv[2])
there.with_name(f"{there.name}-{os.getpid()}").touch()
if children:
    while len(list(there.parent.glob(f"{there.name}-*"))) < PROCESSES:
        time.sleep(0.1)
    there.touch()
time.sleep(1000)
