"""Prepares sandboxes: mounts a folder for each job, and unmounts it when the job is done."""

import ctypes
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


MS_BIND, COUNT = 4096, 600
libc = ctypes.CDLL(None, use_errno=True)
for folder in ("image", "sandbox"):
    os.mkdir(folder)
text = bytes(range(256)) * 16
mount_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    begin = time.monotonic_ns()
    if libc.mount(b"image", b"sandbox", None, MS_BIND, None) or libc.umount2(b"sandbox", 0):
        raise OSError(ctypes.get_errno())
    mount_ns += time.monotonic_ns() - begin
    zlib.compress(text)
tell(began, count=COUNT, mount_ns=mount_ns)
