"""report.py PORT PIECE: sums up all orders twice a second by a script of Redis, so many orders in each call of it."""

import sys
import time

import redis

ORDERS = 60_000
SCRIPT = """
local sum = 0
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
	local order = redis.call('HMGET', 'order:' .. number, 'price', 'count')
	sum = sum + tonumber(order[1]) * tonumber(order[2])
end
return sum
"""
server = redis.Redis("127.0.0.1", int(sys.argv[1]))
piece = int(sys.argv[2])
if server.get("made") is None:
    pipeline = server.pipeline(transaction=False)
    for number in range(ORDERS):
        pipeline.hset(f"order:{number}", mapping={"price": number % 100, "count": 2})
    pipeline.execute()
    server.set("made", "yes")
report = server.register_script(SCRIPT)
while True:
    begun = time.monotonic()
    for first in range(0, ORDERS, piece):
        report(args=[first, min(first + piece, ORDERS) - 1])
        time.sleep(0.0001)
    time.sleep(max(0, begun + 0.5 - time.monotonic()))
