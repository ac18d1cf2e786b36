"""Lists a folder with the names of the owners."""

import json
import os
import pwd
import select
import time
import zlib


def wait_for_start():
    """Say that all is prepared, and wait for the recorder: with two descriptors, as for events."""
    print('{"ready": true}', flush=True)
    nothing, other = os.pipe()
    poll = select.poll()
    for fd in (0, nothing):
        poll.register(fd, select.POLLIN)
    poll.poll()
    os.read(0, 1)
    os.close(nothing)
    os.close(other)
    return time.monotonic_ns()


def tell(began, **truth):
    print(json.dumps({"elapsed_ns": time.monotonic_ns() - began, **truth}), flush=True)


COUNT = 30
text = bytes(range(256)) * 256
for number in range(COUNT):
    with open(f"{number}", "wb") as file:
        file.write(text)
    os.chown(f"{number}", 20000 + number, 0)
name_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    owner = os.stat(f"{number}").st_uid
    begin = time.monotonic_ns()
    pwd.getpwuid(owner)
    name_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, name_ns=name_ns)
