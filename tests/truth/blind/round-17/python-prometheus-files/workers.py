"""workers.py COUNT: so many worker processes live, count, and die, as after max_requests."""

import os
import sys

for _ in range(int(sys.argv[1])):
    if not (child := os.fork()):
        from prometheus_client import Counter, Histogram

        asked = Counter("requests", "that were asked", ["path", "status"])
        took = Histogram("took", "of requests", ["path"])
        for number in range(12):
            asked.labels(f"/page/{number}", "200").inc()
            took.labels(f"/page/{number}").observe(0.1)
        os._exit(0)
    os.waitpid(child, 0)
