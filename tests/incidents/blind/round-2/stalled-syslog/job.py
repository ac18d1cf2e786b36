"""Handles logins, and logs a line for each."""

import json
import logging
import logging.handlers
import os
import select
import sys
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


COUNT = 250
text = bytes(range(256)) * 64
log_ns = 0
log = logging.getLogger("login")
log.setLevel(logging.INFO)
log.addHandler(logging.handlers.SysLogHandler(sys.argv[1]))
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    log.info("login of user %d", number)
    log_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, log_ns=log_ns)
