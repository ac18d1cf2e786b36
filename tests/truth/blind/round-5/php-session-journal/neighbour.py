"""FOLDER FLUSH: saves a file by a new one and a rename, again and again, and flushes both or neither."""

import os
import sys
import time

os.chdir(sys.argv[1])
flush = os.fsync if sys.argv[2] == "1" else lambda _: time.sleep(0.1)
folder = os.open(".", os.O_RDONLY)
while True:
    file = os.open("ledger.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(file, b"x" * 5000)
    flush(file)
    os.close(file)
    os.rename("ledger.new", "ledger")
    flush(folder)
