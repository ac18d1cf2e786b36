"""FILE: needs 3 GB, and writes its number to the file when it has them."""

import mmap
import os
import pathlib
import sys
import time

memory = mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for offset in range(0, 3 << 30, 1 << 20):
    memory[offset : offset + (1 << 20)] = b"x" * (1 << 20)
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
while True:
    time.sleep(1)
