"""probe.py PROGRAM FUNCTION: counts the calls of a function of a program on all CPUs, as tools for tracing do."""

import ctypes
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys

PERF_EVENT_OPEN = 298 if os.uname().machine == "x86_64" else 241
NO_GROUP_NO_FLAGS = (-1, 0)


def file_offset(program, function):
    names = subprocess.run(["nm", program], capture_output=True, check=True, text=True).stdout
    address = int(re.search(rf"^(\w+) T {function}$", names, re.M)[1], 16)
    parts = subprocess.run(["readelf", "-lW", program], capture_output=True, check=True, text=True).stdout
    for offset, begin, size in re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", parts):
        if int(begin, 16) <= address < int(begin, 16) + int(size, 16):
            return address - int(begin, 16) + int(offset, 16)
    raise LookupError(function)


def main(program, function):
    kind = int(pathlib.Path("/sys/bus/event_source/devices/uprobe/type").read_text())
    path = ctypes.create_string_buffer(program.encode())
    words = [kind, 128, 0, 0, 0, 0, 0, 0, 0, ctypes.addressof(path), file_offset(program, function)]
    attributes = ctypes.create_string_buffer(struct.pack("<IIQQQQQIIQQ", *words), 128)
    call = ctypes.CDLL(None, use_errno=True).syscall
    for cpu in range(os.cpu_count()):
        if call(PERF_EVENT_OPEN, attributes, -1, cpu, *NO_GROUP_NO_FLAGS) < 0:
            raise OSError(ctypes.get_errno(), "perf_event_open")
    pathlib.Path("probed").touch()
    signal.pause()


main(*sys.argv[1:])
