"""fill.py PORT HOURS: counts visitors of each hour in HyperLogLogs, and merges all of them in one."""

import sys

import redis

store = redis.Redis(port=int(sys.argv[1]))
keys = [f"visitors:{hour}" for hour in range(int(sys.argv[2]))]
with store.pipeline(transaction=False) as pipe:
    for turn, key in enumerate(keys):
        pipe.pfadd(key, *(f"v{number}" for number in range(turn * 500, turn * 500 + 4000)))
    pipe.execute()
store.pfmerge("visitors:month", *keys)
