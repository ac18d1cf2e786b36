"""Memory as of guests: much of it the same, all of it offered to be merged."""

import mmap
import os
import signal

held = mmap.mmap(-1, 96 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.madvise(mmap.MADV_MERGEABLE)
for at in range(0, len(held), 4096):
    held[at : at + 4] = (at >> 13).to_bytes(4, "little")
print(os.getpid(), flush=True)
signal.pause()
