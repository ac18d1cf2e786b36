"""BYTES FILE: shows what is written to a terminal, so many bytes a second; writes the name of it to a file."""

import os
import pathlib
import pty
import sys
import time

rate = int(sys.argv[1])
screen, terminal = pty.openpty()
pathlib.Path(sys.argv[2]).write_text(os.ttyname(terminal), encoding="ascii")
while data := os.read(screen, 4096):
    if rate < 1_000_000:
        time.sleep(len(data) / rate)
