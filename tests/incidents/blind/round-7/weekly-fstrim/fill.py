"""Leaves a file system with hundreds of small free pieces: writes files, and removes every other one."""

import os

for number in range(1200):
    with open(f"mounted/mail/{number}", "wb", buffering=0) as file:
        file.write(bytes(8192))
os.sync()
for number in range(0, 1200, 2):
    os.unlink(f"mounted/mail/{number}")
os.sync()
