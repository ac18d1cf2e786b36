"""Answers from 20 places of a catalogue; has written its exports before: service.py PORT CATALOGUE EXPORTS."""

import os
import random
import sys

from server import serve

PIECE = 16384
port, catalogue, exports = int(sys.argv[1]), os.open(sys.argv[2], os.O_RDONLY), sys.argv[3]
os.posix_fadvise(catalogue, 0, 0, os.POSIX_FADV_RANDOM)
SIZE = os.fstat(catalogue).st_size

for number in range(105):
    with open(f"{exports}/export-{number}.csv", "wb") as file:
        file.write(b"x" * 1_000_000)
        file.flush()
        os.fsync(file.fileno())
for _ in range(2):
    with open(sys.argv[2], "rb") as whole:
        while whole.read(1 << 20):
            pass


def answer(path: str) -> None:
    """Look at 20 places."""
    for _ in range(20):
        os.pread(catalogue, PIECE, random.randrange(SIZE // PIECE) * PIECE)


serve(port, answer)
