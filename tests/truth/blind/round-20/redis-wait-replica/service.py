"""Takes orders, and answers when a replica of Redis has them, too, or has not within 150 ms."""

import os
import threading

import redis
from server import serve

local = threading.local()


def order(path: str) -> None:
    """Keep an order."""
    if not hasattr(local, "store"):
        local.store = redis.Redis(port=int(os.environ["REDIS"]))
    local.store.rpush("orders", path)
    local.store.wait(1, 150)


serve(int(os.environ["PORT"]), order)
