"""service.py PORT RULES: asks for many files for each request, behind filters of so many comparisons."""

import ctypes
import os
import struct
import sys

from server import serve

SANDBOXES = 8
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2  # of prctl
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of classic BPF
ALLOW = 0x7FFF0000
FIRST_ARGUMENT = 16


def instruction(code, if_true, if_false, value):
    return struct.pack("HBBI", code, if_true, if_false, value)


def confine(rules):
    """Compare the first argument of each system call with one value after the other."""
    program = [instruction(LOAD, 0, 0, FIRST_ARGUMENT)]
    program += [instruction(EQUAL, 0, 0, 0x5EAD0000 + rule) for rule in range(rules)]
    program.append(instruction(RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, FILTER, filters, 0, 0):
        sys.exit(os.strerror(ctypes.get_errno()))


def work(_):
    for number in range(1500):
        os.access(f"/etc/picture-{number}", os.F_OK)


for _ in range(SANDBOXES):
    confine(int(sys.argv[2]))
serve(int(sys.argv[1]), work)
