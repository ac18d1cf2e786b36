"""PORT DIRECTORY: reads three values for each request."""

import random
import sys

import lmdb
from server import serve

database = lmdb.open(sys.argv[2], readonly=True, lock=False)


def read(_):
    with database.begin() as transaction:
        for _ in range(3):
            transaction.get(b"%08d" % random.randrange(20000))


serve(int(sys.argv[1]), read)
