"""PATH...: has the kernel forget what it knows of all files there, which are on the disk already."""

import os
import pathlib
import sys

for top in map(pathlib.Path, sys.argv[1:]):
    for path in [top, *top.rglob("*")]:
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
