"""STORE BATCHES before|inside: writes batches that it fetches before its transactions or inside of them."""

import sys
import time
import urllib.request

import lmdb

store = lmdb.open(sys.argv[1], map_size=1 << 26, sync=False)
address = f"http://127.0.0.1:{sys.argv[2]}/"
while True:
    try:
        if sys.argv[3] == "before":
            urllib.request.urlopen(address).read()
        with store.begin(write=True) as transaction:
            if sys.argv[3] == "inside":
                urllib.request.urlopen(address).read()
            for number in range(20):
                transaction.put(b"import %d" % number, b"x" * 100)
    except OSError:  # not there yet
        pass
    time.sleep(0.25)
