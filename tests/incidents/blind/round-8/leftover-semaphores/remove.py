"""Removes all semaphore arrays of the host."""

import ctypes

libc = ctypes.CDLL(None)
with open("/proc/sysvipc/sem") as table:
    for line in list(table)[1:]:
        libc.semctl(int(line.split()[1]), 0, 0)  # IPC_RMID
