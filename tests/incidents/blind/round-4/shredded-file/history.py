"""Makes a file of 12 MB, page by page and not in order, as a database does over the months."""

import os
import random
import sys

PAGES, PAGE = 3000, 4096
pages = list(range(PAGES))
random.Random(3).shuffle(pages)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.write(file, bytes(PAGES * PAGE))
os.fsync(file)
for number, page in enumerate(pages):
    os.pwrite(file, os.urandom(PAGE), page * PAGE)
    if number % 100 == 99:
        os.fsync(file)
os.fsync(file)
