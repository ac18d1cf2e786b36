"""service.py PORT FILE: keeps the last value of each metric at its place in a file, as Whisper and RRDtool do."""

import os
import struct
import sys

from server import serve

PAGE = 4096
archive = os.open(sys.argv[2], os.O_RDWR)
pages = os.fstat(archive).st_size // PAGE
number = 0


def update(path):
    global number
    for metric in range(4):
        number += 1
        place = number * 7919 % pages * PAGE
        os.pwrite(archive, struct.pack("!Ld", number, metric), place + 64)


serve(int(sys.argv[1]), update)
