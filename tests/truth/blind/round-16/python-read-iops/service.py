"""service.py PORT FILE: each request reads 8 blocks somewhere in a large file."""

import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
from server import serve

table = os.open(sys.argv[2], os.O_RDONLY)
blocks = os.fstat(table).st_size // 4096
os.posix_fadvise(table, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(table, 0, 0, os.POSIX_FADV_RANDOM)


def work(path: str) -> None:
    for _ in range(8):
        assert len(os.pread(table, 4096, random.randrange(blocks) * 4096)) == 4096


serve(int(sys.argv[1]), work)
