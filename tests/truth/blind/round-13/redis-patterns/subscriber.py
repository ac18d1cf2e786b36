"""subscriber.py PORT SUBSCRIBE|PSUBSCRIBE: 100 services that hear of 1,000 users each, by name or by pattern."""

import sys
import time

import redis

server = redis.Redis("127.0.0.1", int(sys.argv[1]))
services = []
for first in range(0, 100_000, 1000):
    service = redis.Connection("127.0.0.1", int(sys.argv[1]))
    services.append(service)
    service.send_command(sys.argv[2], *(f"user:{number}:changed" for number in range(first, first + 1000)))
    for _ in range(1000):
        service.read_response()
server.set("made", "yes")
while True:
    time.sleep(1)
