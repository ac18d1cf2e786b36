"""A cache whose objects come and go: in the end three of four pages of its memory are in use."""

import mmap
import os
import signal

with open("/proc/meminfo") as file:
    free = int(next(line for line in file if line.startswith("MemFree")).split()[1]) << 10
SIZE = (free - (60 << 20)) & -(2 << 20)
memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(15)  # MADV_NOHUGEPAGE: objects of 4 KiB, as they came
for offset in range(0, SIZE, 4096):
    memory[offset] = 1
for offset in range(0, SIZE, 16384):
    memory.madvise(mmap.MADV_DONTNEED, offset, 4096)
print(os.getpid(), flush=True)
signal.pause()
