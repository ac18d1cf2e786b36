"""PORT STORE: counts each request in LMDB."""

import itertools
import sys

import lmdb
from server import serve

store = lmdb.open(sys.argv[2], map_size=1 << 26, sync=False)
number = itertools.count()


def answer(_):
    with store.begin(write=True) as transaction:
        transaction.put(b"request %d" % (next(number) % 1000), b"x" * 100)


serve(int(sys.argv[1]), answer)
