"""DIRECTORY: a database of 20,000 values of 8 KB."""

import os
import sys

import lmdb

with lmdb.open(sys.argv[1], map_size=1 << 30, sync=False) as database, database.begin(write=True) as transaction:
    for number in range(20000):
        transaction.put(b"%08d" % number, os.urandom(8000), append=True)
