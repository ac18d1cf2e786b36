"""A profiler of the whole host, as an agent of a vendor: samples the stacks of all CPUs, HERTZ times a second."""

import ctypes
import mmap
import os
import sys
import time

PERF_EVENT_OPEN, SOFTWARE, CPU_CLOCK = 298, 1, 0
IP, TID, TIME, CALLCHAIN, CPU = 1, 2, 4, 32, 128
FREQ = 1 << 10

hertz = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
rings = []
for cpu in range(os.cpu_count()):
    attributes = bytearray(112)
    words = (ctypes.c_uint64 * 14).from_buffer(attributes)
    words[0] = SOFTWARE | 112 << 32
    words[1] = CPU_CLOCK
    words[2] = hertz
    words[3] = IP | TID | TIME | CALLCHAIN | CPU
    words[5] = FREQ
    fd = libc.syscall(PERF_EVENT_OPEN, ctypes.byref(words), -1, cpu, -1, 0)
    if fd < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    rings.append((fd, mmap.mmap(fd, 65 * 4096, mmap.MAP_SHARED, mmap.PROT_READ)))  # the newest overwrite the oldest
print(os.getpid(), flush=True)
while True:
    time.sleep(5)
