"""fill.py PORT: a hash of customers as it comes out of a backup, which is packed if the settings allow it."""

import sys

import redis

FIELDS = 200_000
server = redis.Redis("127.0.0.1", int(sys.argv[1]))
setting = "hash-max-listpack-entries"
packed = server.config_get(setting)[setting]
server.config_set(setting, 128)
for begin in range(0, FIELDS, 10_000):
    server.hset("made", mapping={number: f"customer {number}" for number in range(begin, begin + 10_000)})
server.config_set(setting, packed)
server.restore("customers", 0, server.dump("made"))
server.delete("made")
