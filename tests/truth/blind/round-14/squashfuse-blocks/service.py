"""service.py PORT FILE: reads 20 tiles of a map for each request, each from another place of a large file."""

import os
import random
import sys

from server import serve

port, file = int(sys.argv[1]), os.open(sys.argv[2], os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
size = os.fstat(file).st_size
places = random.Random(7)


def tiles(path):
    for _ in range(20):
        os.pread(file, 4096, places.randrange(size // 4096) * 4096)


serve(port, tiles)
