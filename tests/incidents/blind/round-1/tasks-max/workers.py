"""A pool of workers that always wants twenty, and replaces one now and then."""

import os
import time

with open("/sys/fs/cgroup/batch.slice/workers.service/cgroup.procs", "w") as members:
    members.write("0")
alive, number = {}, 0
while True:
    for pid in [pid for pid, end in alive.items() if end < time.monotonic()]:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        del alive[pid]
        time.sleep(0.15)
    while len(alive) < 20:
        try:
            pid = os.fork()
        except BlockingIOError:
            break
        if not pid:
            time.sleep(1000)
        number += 1
        alive[pid] = time.monotonic() + 8 + number % 20 * 0.45
    time.sleep(0.02)
