"""PORT STORE LOCKS: works for 4 ms for each request, under one of so many locks in Redis."""

import hashlib
import random
import sys

import redis
from server import serve

PORT, STORE, LOCKS = map(int, sys.argv[1:])
store = redis.Redis(port=STORE)


def check_out(_):
    with store.lock(f"checkout-{random.randrange(LOCKS)}", timeout=10):
        hashlib.pbkdf2_hmac("sha256", b"order", b"shop", 20000)
        store.incr("orders")


serve(PORT, check_out)
