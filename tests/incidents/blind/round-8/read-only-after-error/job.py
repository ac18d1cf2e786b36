"""Writes orders to files; one that cannot be written is tried again, and then kept in memory."""

import json
import os
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


COUNT, TRIES, PAUSE = 4, 4, 0.5
text = bytes(range(256)) * 64
kept = []
write_ns = failed = 0
began = wait_for_start()
for number in range(COUNT):
    begin = time.monotonic_ns()
    for _ in range(TRIES):
        try:
            with open(f"mounted/order-{number}", "wb", buffering=0) as file:
                file.write(text)
                os.fsync(file.fileno())
            break
        except OSError:
            failed += 1
        time.sleep(PAUSE)
    else:
        kept.append(text)
    write_ns += time.monotonic_ns() - begin
    zlib.compress(text)
tell(began, count=COUNT, failed=failed, write_ns=write_ns)
