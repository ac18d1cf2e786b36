"""service.py PORT FILE: counts orders in a file that is mapped, and flushes the mapping after each."""

import mmap
import os
import struct
import sys

from server import serve

SIZE = 32 << 20
with open(sys.argv[2], "wb") as new:
    for _ in range(SIZE >> 20):
        new.write(bytes(1 << 20))
counters = mmap.mmap(os.open(sys.argv[2], os.O_RDWR), SIZE)
counters.flush()


def count(path):
    place = hash(path) % (SIZE // 8) * 8
    (orders,) = struct.unpack_from("q", counters, place)
    struct.pack_into("q", counters, place, orders + 1)
    counters.flush()


serve(int(sys.argv[1]), count)
