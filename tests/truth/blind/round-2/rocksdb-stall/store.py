"""PORT DIRECTORY: stores 64 KB for each request."""

import itertools
import os
import sys

from rocksdict import Options, Rdict
from server import serve

options = Options(raw_mode=True)
options.create_if_missing(True)
options.set_write_buffer_size(1 << 20)
options.set_max_write_buffer_number(2)
store, numbers = Rdict(sys.argv[2], options), itertools.count()
value = os.urandom(64 << 10)


def put(_):
    store[next(numbers).to_bytes(8, "big")] = value


serve(int(sys.argv[1]), put)
