"""Leaves semaphore arrays behind, as a server does that is killed."""

import ctypes
import sys

semget = ctypes.CDLL(None).semget
for number in range(int(sys.argv[1])):
    if semget(0x77000000 + number, 1, 0o1600) < 0:
        break
