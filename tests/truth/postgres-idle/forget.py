"""Let the kernel forget what it has cached of files, and of all files below directories: forget.py PATH..."""

import os
import sys
from itertools import chain
from pathlib import Path

os.sync()
for path in chain.from_iterable([Path(word), *Path(word).rglob("*")] for word in sys.argv[1:]):
    if path.is_file():
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
