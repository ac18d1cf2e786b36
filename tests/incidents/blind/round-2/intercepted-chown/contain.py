"""Runs a program under a filter that hands one system call to the supervisor: contain.py NUMBER PROGRAM..."""

import ctypes
import os
import socket
import struct
import sys

SECCOMP, SET_MODE_FILTER, NEW_LISTENER = 317, 1, 8
LOAD, EQUAL, RETURN, ALLOW, NOTIFY = 0x20, 0x15, 0x06, 0x7FFF0000, 0x7FC00000
steps = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, int(sys.argv[1])), (RETURN, 0, 0, NOTIFY), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
listener = libc.syscall(SECCOMP, SET_MODE_FILTER, NEW_LISTENER, program)
assert listener >= 0, os.strerror(ctypes.get_errno())
with socket.socket(socket.AF_UNIX) as supervisor:
    supervisor.connect("supervisor")
    socket.send_fds(supervisor, [b"filter"], [listener])
    supervisor.recv(1)
os.close(listener)
os.execvp(sys.argv[2], sys.argv[2:])
