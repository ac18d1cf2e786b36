"""archive.py FILE: writes to it all the time, a little, and asks for nothing to be safe."""

import os
import sys
import time

file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
piece = os.urandom(400_000)
number = 0
while True:
    os.pwrite(file, piece, number % 200 * len(piece))
    number += 1
    time.sleep(0.05)
