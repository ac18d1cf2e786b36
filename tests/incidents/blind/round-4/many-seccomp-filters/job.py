"""Looks up versions of files, as a synchroniser does; hardened by as many filters as it is told."""

import ctypes
import json
import os
import select
import struct
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


LOAD, EQUAL, RETURN, NUMBER, ARGUMENT, ALLOW = 0x20, 0x15, 0x06, 0, 16, 0x7FFF0000


def harden(filters):
    """Each lets all calls pass whose first argument is in no list; one alone looks at the call's number only."""
    where, length = (ARGUMENT, 1000) if filters > 1 else (NUMBER, 10)
    code = [(LOAD, 0, 0, where)]
    code += [(EQUAL, 0, 0, 0x7FF00000 + number) for number in range(length)]
    code += [(RETURN, 0, 0, ALLOW)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    for _ in range(filters):
        if libc.prctl(22, 2, program, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")


COUNT = 4000
text = bytes(range(256)) * 32
for number in range(100):
    with open(str(number), "wb") as file:
        file.write(text)
harden(int(sys.argv[1]))
calls_ns = 0
began = wait_for_start()
for number in range(COUNT):
    name = str(number % 100)
    begin = time.monotonic_ns()
    os.stat(name)
    fd = os.open(name, os.O_RDONLY)
    os.read(fd, 512)
    os.close(fd)
    calls_ns += time.monotonic_ns() - begin
    if number % 50 == 0:
        zlib.compress(text)
tell(began, count=COUNT, calls_ns=calls_ns)
