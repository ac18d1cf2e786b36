"""Runs a hook for each event; descriptors are closed before, as in a container whose filter knows no close_range()."""

import ctypes
import json
import os
import resource
import select
import struct
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


LOAD, EQUAL, RETURN, CLOSE_RANGE, ALLOW, REFUSE = 0x20, 0x15, 0x06, 436, 0x7FFF0000, 0x50001  # EPERM


def refuse_close_range():
    """As engines of 2020 do with calls that they do not know."""
    code = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, CLOSE_RANGE), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def run_hook(most):
    child = os.fork()
    if child == 0:
        os.closerange(3, most)
        os.execv("/bin/true", ["true"])
    os.waitpid(child, 0)


COUNT = 12
text = bytes(range(256)) * 1024
refuse_close_range()
most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
hook_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    run_hook(most)
    hook_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, hook_ns=hook_ns)
